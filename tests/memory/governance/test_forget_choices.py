"""What a message picks of the things that a reply asked about."""

import pytest

from memory.governance.forget_choices import choose
from memory.language.keywords import KeywordAnalyzer

LOCKER = "locker 4471 my locker opens with 4471"
SHED = "bike shed 6618 the bike shed opens with 6618"
PEN = "门锁 7721 租屋处大门密码 7721"


@pytest.mark.parametrize(
    ("message", "places"),
    [
        ("yes", [0]),
        ("Yes please", [0]),
        ("yep, the locker", [0]),
        ("the locker", [0]),
        ("that's right, thanks", [0]),
        ("forget it", [0]),
        ("never mind", []),
        ("no", []),
        ("no, not the locker", []),
        ("nope, the one at home", None),
        ("the locker is blue", None),
        ("I'm off to work", None),
    ],
)
def test_one_thing_is_confirmed_or_not(message: str, places: list[int] | None) -> None:
    assert choose(message, [LOCKER], KeywordAnalyzer()) == places


@pytest.mark.parametrize(
    ("message", "places"),
    [
        ("是", [0]),
        ("对的", [0]),
        ("對，刪掉", [0]),
        ("嗯", [0]),
        ("大门密码", [0]),
        ("不是", []),
        ("别删", []),
        ("今天下雨", None),
    ],
)
def test_one_thing_is_confirmed_in_chinese(message: str, places: list[int] | None) -> None:
    assert choose(message, [PEN], KeywordAnalyzer()) == places


@pytest.mark.parametrize(
    ("message", "places"),
    [("the shed", [1]), ("the first one", [0]), ("both", [0, 1]), ("neither", []), ("yes", None), ("no", None)],
)
def test_of_several_things_one_is_picked(message: str, places: list[int] | None) -> None:
    assert choose(message, [LOCKER, SHED], KeywordAnalyzer()) == places
