"""The code of the guide to the client runs as it stands there, against the real app over fakes."""

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[3] / "docs/how-to/sdk.md"
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)

EXPECTED = ["manage", "()", "", "blue drawer", "at least 1"]
"""What each block prints among other things."""


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_the_code_of_the_guide_runs(url: str, number: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(BLOCKS) == len(EXPECTED)
    exec(compile(BLOCKS[number].replace("http://127.0.0.1:8000", url), str(GUIDE), "exec"), {})
    shown = capsys.readouterr().out
    assert EXPECTED[number] in shown
