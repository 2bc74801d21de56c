"""The word lists: readable, sourced, and written as the texts that they are compared with."""

from pathlib import Path

import pytest

from memory.language.word_lists import entries
from memory.values.text import to_simplified

MEMORY = Path(__file__).parents[3] / "memory"
LISTS = sorted(MEMORY.glob("*/data/**/*.txt"))


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_a_list_says_what_it_is_and_holds_each_entry_once(path: Path) -> None:
    room, _, name = path.relative_to(MEMORY).with_suffix("").as_posix().partition("/data/")
    words = entries(name, f"memory.{room}")
    assert words
    assert len(set(words)) == len(words)
    assert all(word == word.strip() for word in words)
    what, source, *_ = path.read_text(encoding="utf-8").splitlines()
    assert what.startswith("# ")
    assert source.startswith("# ")
    if room != "extraction":  # seeds are shown, the others compared
        assert all(to_simplified(word) == word == word.lower() for word in words)


def test_a_list_that_is_not_there_is_named() -> None:
    with pytest.raises(FileNotFoundError, match="no_such_list"):
        entries("no_such_list")
