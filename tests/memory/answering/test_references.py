"""What a quotation shows: the words that were said, and in brackets what they refer to."""

import re
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.answering.quoting import with_references_beside
from memory.values.hits import Hit, HitKind


def hit(text: str, resolved: str | None) -> Hit:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    return Hit(kind=HitKind.MEMORY, id="m", text=text, resolved=resolved, score=1.0, parts={}, created_at=at)


@pytest.mark.parametrize(
    ("text", "resolved", "shown"),
    [
        pytest.param("前天他飛過來陪我", "前天徐濤飛過來陪我", "前天他（徐濤）飛過來陪我", id="pronoun"),
        pytest.param("保固三年", "AI-Box保固三年", "（AI-Box）保固三年", id="left out"),
        pytest.param(
            "it's due on the 3rd", "the rent's due on the 3rd", "it's [the rent's] due on the 3rd", id="English"
        ),
        pytest.param("ask her about it", "ask Jean about the barn", "ask her [Jean] about it [the barn]", id="two"),
        pytest.param("her mum rang", "Alice's mum rang", "her [Alice's] mum rang", id="possessive"),
        pytest.param("住三峽", None, "住三峽", id="nothing to resolve"),
    ],
)
def test_a_reference_stands_as_it_was_said_with_its_meaning_beside(text: str, resolved: str | None, shown: str) -> None:
    memory = hit(text, resolved)
    assert with_references_beside(memory.meant, memory) == shown


def test_a_part_of_a_memory_shows_the_references_of_that_part() -> None:
    memory = hit("他回來了。我煮了一桌菜。它很好吃。", "小王回來了。我煮了一桌菜。牛肉麵很好吃。")
    assert with_references_beside("小王回來了。", memory) == "他（小王）回來了。"
    assert with_references_beside("我煮了一桌菜。", memory) == "我煮了一桌菜。"
    assert with_references_beside("牛肉麵很好吃。", memory) == "它（牛肉麵）很好吃。"


def test_a_corrected_statement_is_shown_as_it_is_meant() -> None:
    memory = hit("不是，我是說一樓。", "鑰匙放在一樓。")
    assert with_references_beside("鑰匙放在一樓。", memory) == "鑰匙放在一樓。"


WORDS = st.lists(st.sampled_from(["他", "it", "那個", "小王", "van", "住", "on", "的", " ", "。"]), min_size=1)
NAMES = {"他": "徐濤", "it": "the van", "那個": "AI-Box"}


@given(said=WORDS)
@example(said=["小王", "van", "那個", "it"])  # what was said ends with words that nothing stands for
def test_without_the_brackets_a_quotation_is_what_was_said(said: list[str]) -> None:
    memory = hit("".join(said), "".join(NAMES.get(word, word) for word in said))
    shown = with_references_beside(memory.meant, memory)
    restated = re.sub(r"（[^）]*）|\[[^]]*\]", "", shown)
    assert shown == memory.meant or restated.replace(" ", "") == memory.text.replace(" ", "")
