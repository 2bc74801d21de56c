"""The quick start of docs/how-to/langgraph.md runs as it is written, and remembers across connections."""

import re
from pathlib import Path
from typing import Any

from tests.deployments.loopback import on_loopback

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "langgraph.md"


def test_the_quick_start_remembers_what_was_said_in_another_thread() -> None:
    [code, sdk] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert "get_client" in sdk
    printed: list[Any] = []
    names: dict[str, Any] = {"__name__": "guide", "print": printed.append}
    with on_loopback() as url:
        exec(compile(code.replace("http://127.0.0.1:8000", url), str(PAGE), "exec"), names)
    assert printed == [["I drink oolong tea without milk."]]
