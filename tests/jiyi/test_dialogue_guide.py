"""The quick start of docs/how-to/dialogue.md runs as it is written."""

import re
from pathlib import Path
from typing import Any

import httpx

from jiyi import AsyncClient
from tests.deployments.conftest import open_fakes
from tests.deployments.serving import running_app

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "dialogue.md"


async def test_the_quick_start_remembers_from_one_session_to_the_next() -> None:
    [code] = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {"__name__": "guide"}
    exec(compile(code, str(GUIDE), "exec"), names)
    async with open_fakes() as services, running_app(services) as app:
        transport = httpx.ASGITransport(app)
        names["AsyncClient"] = lambda url: AsyncClient("http://localhost", transport=transport)
        [reply] = await names["main"]()
    assert "書房抽屜" in reply
