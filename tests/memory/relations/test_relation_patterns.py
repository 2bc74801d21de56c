"""What relations a text states, in both scripts and English; what it does not state gives none."""

import pytest

from memory.relations.patterns import RelationClaim, find_relations
from memory.values.ids import entity_id
from memory.values.understanding.mentions import Mention
from testing.fakes.reader import names_in


def find_claims(text: str) -> list[RelationClaim]:
    mentions = [
        Mention(
            text=(name := text[span.start : span.end]),
            start=span.start,
            end=span.end,
            subtype=span.subtype,
            confidence=span.score,
            entity_id=entity_id("ann", name),
        )
        for span in names_in(text)
    ]
    return find_relations(text, mentions)


def stated_relations(text: str) -> set[tuple[str, str, str]]:
    return {
        (claim.source.text if claim.source else "I", claim.relation_type.value, claim.target.text)
        for claim in find_claims(text)
    }


@pytest.mark.parametrize(
    ("text", "source", "relation", "target"),
    [
        ("王小明在台積電工作。", "王小明", "works_at", "台積電"),
        ("王小明目前在台积电上班。", "王小明", "works_at", "台积电"),
        ("在台積電工作的王小明很忙", "王小明", "works_at", "台積電"),
        ("我在台積電上班", "I", "works_at", "台積電"),
        ("陳怡君負責 AI-Box 專案", "陳怡君", "responsible_for", "AI-Box"),
        ("AI-Box 由陳怡君負責", "陳怡君", "responsible_for", "AI-Box"),
        ("宏康 HCI 位於台北", "宏康 HCI", "located_in", "台北"),
        ("王小明住在台北。", "王小明", "lives_in", "台北"),
        ("AI-Box 属于宏康 HCI", "AI-Box", "part_of", "宏康 HCI"),
        ("AI-Box 是宏康 HCI 旗下的產品", "AI-Box", "part_of", "宏康 HCI"),
        ("宏康 HCI 使用 Qdrant。", "宏康 HCI", "uses", "Qdrant"),
        ("AI-Box 是宏康 HCI 開發的", "AI-Box", "made_by", "宏康 HCI"),
        ("宏康 HCI 推出了 AI-Box", "AI-Box", "made_by", "宏康 HCI"),
        ("王小明很喜歡周杰倫", "王小明", "likes", "周杰倫"),
        ("王小明買了一台 iPhone 15", "王小明", "bought", "iPhone 15"),
        ("Alice works at Acme Corp.", "Alice", "works_at", "Acme Corp"),
        ("Alice is responsible for AI-Box.", "Alice", "responsible_for", "AI-Box"),
        ("Google is based in California.", "Google", "located_in", "California"),
        ("Bob lives in Paris.", "Bob", "lives_in", "Paris"),
        ("AI-Box is part of KA-Agent.", "AI-Box", "part_of", "KA-Agent"),
        ("Google uses Redis.", "Google", "uses", "Redis"),
        ("RoadRunner 2000 was made by Acme Corp.", "RoadRunner 2000", "made_by", "Acme Corp"),
        ("Alice loves Taylor Swift.", "Alice", "likes", "Taylor Swift"),
        ("Bob bought a new iPhone 15 yesterday.", "Bob", "bought", "iPhone 15"),
    ],
)
def test_it_is_stated(text: str, source: str, relation: str, target: str) -> None:
    assert (source, relation, target) in stated_relations(text)


@pytest.mark.parametrize(
    "text",
    [
        "王小明不在台積電工作。",
        "王小明沒有負責 AI-Box。",
        "王小明在台積電工作嗎？",
        "誰在台積電工作？王小明嗎？",
        "如果王小明在台積電工作就好了。",
        "聽說王小明在台積電工作。",
        "王小明想在台積電工作。",
        "王小明以前在台積電工作。",
        "他說：「王小明在台積電工作」",
        "> 王小明在台積電工作",
        "Alice doesn't work at Google.",
        "Would Alice work at Google?",
        "I think Alice works at Google.",
        "Alice used to work at Google.",
        'She said: "Alice works at Google"',
    ],
)
def test_what_is_asked_denied_supposed_past_or_quoted_states_nothing(text: str) -> None:
    assert find_claims(text) == []


def test_each_of_several_subjects_and_objects_is_related() -> None:
    assert stated_relations("王小明和陳怡君都在台積電上班") >= {
        ("王小明", "works_at", "台積電"),
        ("陳怡君", "works_at", "台積電"),
    }
    assert stated_relations("宏康 HCI 使用 Qdrant 和 Redis") >= {
        ("宏康 HCI", "uses", "Qdrant"),
        ("宏康 HCI", "uses", "Redis"),
    }


def test_the_evidence_is_the_words_that_say_so_and_the_confidence_that_of_the_names() -> None:
    text = "對了，王小明在台積電工作，很忙。"
    [claim] = find_claims(text)
    assert text[claim.start : claim.end] == "王小明在台積電工作"
    assert 0 < claim.confidence < 0.85
