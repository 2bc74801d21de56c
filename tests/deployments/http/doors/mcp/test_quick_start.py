"""The example of docs/how-to/mcp.md."""

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[5] / "docs" / "how-to" / "mcp.md"


async def test_the_example_of_the_documentation_runs(url: str) -> None:
    [example] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(example, str(PAGE), "exec"), names)
    assert await names["remember"](url) == ["The spare key is in the blue drawer."]
