"""A manager of typed memories on fakes."""

from collections.abc import AsyncIterator

import pytest

from tests.memory.governance.typed_memories import Aam


@pytest.fixture
async def aam() -> AsyncIterator[Aam]:
    made = Aam()
    yield made
    await made.tally.close()
