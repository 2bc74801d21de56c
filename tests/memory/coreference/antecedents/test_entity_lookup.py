"""What a copied span is made to be: the whole of a name, and a title with both of its brackets."""

import pytest
from memory.coreference.antecedents.entity_lookup import EntityLookup

from memory.values.base import utc_now
from memory.values.dialogue import Role, Turn
from memory.values.rewrites import Antecedent


def extend_span(turn: str, copied: str) -> str:
    turns = [Turn(role=Role.USER, content=turn, created_at=utc_now())]
    start = turn.index(copied)
    antecedent = Antecedent(text=copied, turn=0, start=start, end=start + len(copied), probability=0.9)
    extended = EntityLookup((), turns).whole(antecedent)
    assert turn[extended.start : extended.end] == extended.text
    return extended.text


@pytest.mark.parametrize(
    ("turn", "copied", "expected"),
    [
        ("我訂了《哈利波特》首映票。", "哈利波特》首映票", "《哈利波特》首映票"),
        ("我在讀《某年某月》。", "《某年某月", "《某年某月》"),
        ("她說「好的」了。", "好的」", "「好的」"),
        ("We met (again) in Rome.", "again)", "(again)"),
        ("I moved to New York last year.", "New York", "New York"),  # a space is no bracket
        ("你知道紐約嗎", "紐約", "紐約"),
        ("我在讀《某年某月》。", "某年某月", "某年某月"),  # without both it lacks none
    ],
)
def test_a_span_gets_the_bracket_that_it_lacks(turn: str, copied: str, expected: str) -> None:
    assert extend_span(turn, copied) == expected
