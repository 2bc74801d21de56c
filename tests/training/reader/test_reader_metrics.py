from typing import Any

import pytest

from memory.values.understanding.mentions import EntitySubtype, TaggedSpan
from memory.values.understanding.readings import (
    Action,
    ContextSpan,
    FactSpan,
    Intent,
    Reading,
    Replacement,
    Rewrite,
    StatedFact,
)
from training.names.ner_files import NamedSpan
from training.reader.corpus import MarkedFact, MarkedMessage, MarkedQuery, MarkedReference
from training.reader.metrics import is_right, score_messages, score_references, share

REFERENCE = MarkedReference(0, 1, antecedents=("AI-Box",))


def query(
    target: str, action: Action, *references: MarkedReference, text: str = "它好嗎", category: str = "thing"
) -> MarkedQuery:
    return MarkedQuery("zh-1", "zh-Hant", category, (), text, target, action, references)


def rewritten(text: str, confidence: float = 0.9) -> Rewrite:
    return Rewrite(action=Action.REWRITE, text=text, confidence=confidence)


def asked(*options: str) -> Rewrite:
    spans = [ContextSpan(text=option, turn=0, start=0, end=1, probability=0.3) for option in options]
    replacement = Replacement(
        start=0, end=1, written=options[0], antecedents=(spans[0],), confidence=0.5, alternatives=tuple(spans[1:])
    )
    return Rewrite(action=Action.ASK, text="它好嗎", replacements=(replacement,))


REWRITE = query("AI-Box 好嗎", Action.REWRITE, REFERENCE)
KEEP = query("它好嗎", Action.KEEP)
ASK = query("它好嗎", Action.ASK, MarkedReference(0, 1, options=("AI-Box", "小黑")))


def test_action_and_text_must_be_right_whatever_width_case_and_spaces() -> None:
    assert is_right(REWRITE, rewritten("ai-boxＡ好嗎".replace("Ａ", "")))
    assert not is_right(REWRITE, rewritten("宏康好嗎"))
    assert not is_right(REWRITE, Rewrite(text="AI-Box 好嗎"))
    assert is_right(KEEP, Rewrite(text="它好嗎"))
    assert not is_right(KEEP, rewritten("AI-Box 好嗎"))


def test_every_option_must_be_asked_about() -> None:
    assert is_right(ASK, asked("AI-Box", "我家小黑"))  # one is the end of the other
    assert not is_right(ASK, asked("AI-Box", "宏康"))
    assert not is_right(ASK, rewritten("AI-Box 好嗎"))
    assert is_right(ASK, asked("小黑", "宏康", "AI-Box"))


def test_references_are_counted_by_action_language_and_category() -> None:
    queries = [REWRITE, REWRITE, KEEP, ASK]
    counts = score_references(
        queries, [rewritten("AI-Box好嗎"), rewritten("宏康好嗎", 0.5), asked("AI-Box"), asked("AI-Box", "小黑")]
    )
    assert (share(counts, "all"), share(counts, "references"), share(counts, "left alone")) == (50.0, 50.0, 0.0)
    assert share(counts, "asked back") == share(counts, "zh-Hant: asked back") == 100.0
    assert share(counts, "written, sure") == 100.0  # the wrong one was not sure
    assert share(counts, "asked without need") == pytest.approx(33.3)
    assert counts["category thing"]["rows"] == 4
    assert share(counts, "en") == 0.0


def message(**values: Any) -> MarkedMessage:
    given: dict[str, Any] = {"names": (), "intents": (Intent.STATEMENT,), "facts": ()} | values
    return MarkedMessage("zh-1", "zh-Hant", (), "小美住板橋", **given)


def reading(**values: Any) -> Reading:
    given: dict[str, Any] = {"intents": ((Intent.STATEMENT, 0.9),)} | values
    return Reading(rewrite=Rewrite(text="小美住板橋"), **given)


def fact(subject: str, predicate: str, item: str) -> StatedFact:
    return StatedFact(
        subject=FactSpan(text=subject, start=0, end=2) if subject else None,
        predicate=predicate,
        object=FactSpan(text=item, start=0, end=2),
    )


def test_names_need_their_offsets_and_subtype() -> None:
    marked = message(names=(NamedSpan(0, 2, "person"), NamedSpan(3, 5, "place")))
    person = TaggedSpan(start=0, end=2, label="person", subtype=EntitySubtype.PERSON, score=0.9)
    wrong = TaggedSpan(start=3, end=5, label="work", subtype=EntitySubtype.WORK, score=0.9)
    scores = score_messages([marked], [reading(names=(person, wrong))])
    assert (scores["names F1"], scores["names P"], scores["names R"]) == (50.0, 50.0, 50.0)


def test_facts_need_subject_predicate_and_object() -> None:
    marked = message(facts=(MarkedFact("小美", "lives_in", "板橋"), MarkedFact("", "likes", "茶")))
    found = reading(facts=(fact("", "lives_in", "板橋"), fact("", "likes", "咖啡")))
    scores = score_messages([marked], [found])
    assert scores["facts F1"] == 0.0
    assert scores["facts F1 without subject"] == 50.0
    assert scores["objects F1"] == 50.0
    assert score_messages([marked], [reading(facts=(fact("小美", "lives_in", "板橋"),))])["facts P"] == 100.0
    assert score_messages([marked], [reading(facts=(fact("小美", "lives_in", "板橋"),))])["facts R"] == 50.0


def test_intents_are_compared_as_sets_and_the_first_one_alone() -> None:
    marked = message(intents=(Intent.QUESTION, Intent.STATEMENT))
    scores = score_messages([marked], [reading()])
    assert scores["first intent"] == 100.0
    assert scores["intents F1"] == pytest.approx(66.7)


def test_no_messages_have_no_scores() -> None:
    assert set(score_messages([], []).values()) == {0.0}
