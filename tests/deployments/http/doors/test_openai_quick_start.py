"""The quick start of docs/how-to/openai.md runs as it stands."""

import re
from pathlib import Path

import pytest

from .conftest import Door

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "openai.md"


def test_the_quick_start_prints_what_was_told(door: Door, person: str, capsys: pytest.CaptureFixture[str]) -> None:
    [code, *_] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    shown = code.replace("http://127.0.0.1:8000", door.url).replace('"ada"', f'"{person}"')
    told, asked = shown.split("reply = ")
    names: dict[str, object] = {}
    exec(told, names)
    door.settle(person)
    exec(f"reply = {asked}", names)
    names["client"].close()  # type: ignore[attr-defined]
    assert "The spare key is in the blue drawer." in capsys.readouterr().out
