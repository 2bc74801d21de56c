"""A client of the service over fakes, for the adapters and their frameworks."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from jiyi import AsyncClient
from tests.deployments.conftest import open_fakes
from tests.deployments.serving import running_app

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "adapters.md"
BOUGHT = "我們公司買了 AI-Box。"
ASKED = "AI-Box 放在哪裡？"
REFERRED = "它放在哪裡？"


@pytest.fixture
async def jiyi() -> AsyncIterator[AsyncClient]:
    async with open_fakes() as services, running_app(services) as app:
        transport = httpx.ASGITransport(app)
        async with AsyncClient("http://localhost", transport=transport) as client:
            yield client


def example(heading: str) -> dict[str, Any]:
    """The names that the quick-start under this heading of docs/how-to/adapters.md defines."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    [code] = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    return names
