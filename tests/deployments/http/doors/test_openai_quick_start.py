"""The programs of docs/how-to/openai.md run as they stand."""

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import set_tracing_disabled

from .conftest import Door

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "openai.md"
KEPT = "The spare key is in the blue drawer."
_LEARNS_EVERY_S = 0.05


@pytest.fixture
def learning(door: Door, person: str) -> Iterator[None]:
    """What the person says is learned in the background, as by a service that is not over fakes."""
    ended = threading.Event()

    def learn() -> None:
        while not ended.wait(_LEARNS_EVERY_S):
            door.settle(person)

    thread = threading.Thread(target=learn)
    thread.start()
    yield
    ended.set()
    thread.join()


@pytest.fixture
def programs(door: Door, person: str) -> list[str]:
    """The programs, but for the address of the service and the name of the person."""
    found = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert all("http://127.0.0.1:8000" in program and '"ada"' in program for program in found)
    return [program.replace("http://127.0.0.1:8000", door.url).replace('"ada"', f'"{person}"') for program in found]


@pytest.mark.usefixtures("learning")
def test_the_programs_of_the_page_print_what_was_told(programs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    quick_start, agent = programs
    names: dict[str, Any] = {}
    exec(quick_start, names)
    names["client"].close()
    assert KEPT in capsys.readouterr().out
    try:
        exec(agent, {})
    finally:
        set_tracing_disabled(False)
    assert KEPT in capsys.readouterr().out, "another client of the same person, the same memory"
