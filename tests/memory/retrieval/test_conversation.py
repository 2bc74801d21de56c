"""What a conversation says of a memory besides its words: neighbours, speakers, repetitions."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.retrieval.conversation import diversify, neighbour_scores, with_named_speaker
from memory.retrieval.fusion import CONVERSATION, ENTITY_MEMORY, boosted_score
from memory.values.hits import Hit, HitKind
from memory.values.records import Memory
from memory.values.understanding.dialogue import Role

NOW = datetime(2026, 3, 2, tzinfo=UTC)
PART = st.floats(0, 1)
WORDS = st.lists(st.sampled_from(["red", "blue", "green", "記", "憶"]), max_size=5).map(" ".join)


def memory(id_: str, *, speaker: str | None = None, role: Role = Role.USER) -> Memory:
    return Memory(
        memory_id=id_,
        user_id="ann",
        session_id="s",
        resource_id=id_,
        role=role,
        speaker=speaker,
        text="text",
        created_at=NOW,
        updated_at=NOW,
    )


def hit(id_: str, score: float, text: str, kind: HitKind = HitKind.MEMORY) -> Hit:
    return Hit(kind=kind, id=id_, text=text, score=score, parts={}, created_at=NOW)


def test_the_better_neighbour_counts_and_only_one_that_was_found() -> None:
    previous = {"2": "1", "3": "2", "9": "8"}
    assert neighbour_scores({"1": 0.9, "2": 0.1, "3": 0.4, "9": 0.5}, previous) == {"1": 0.1, "2": 0.9, "3": 0.1}


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("What did Caroline paint?", {"carol"}),
        ("What are Caroline's hobbies?", {"carol"}),
        ("What did Caroline and Mel paint?", {"carol", "mel"}),
        ("What did Caroliner paint?", set()),
        ("Where are my keys?", {"user"}),
        ("我的鑰匙在哪裡", {"user"}),
        ("What book is yours?", {"assistant"}),
        ("Can you find my keys?", set()),
        ("你推薦過我哪些書", set()),
        ("Where are the keys?", set()),
    ],
)
def test_the_speaker_is_named_by_name_or_by_i_and_you_but_not_by_both(query: str, named: set[str]) -> None:
    memories = [
        memory("carol", speaker="Caroline"),
        memory("mel", speaker="Mel"),
        memory("user"),
        memory("assistant", role=Role.ASSISTANT),
    ]
    assert with_named_speaker(query, memories) == named


def test_what_says_the_same_as_a_better_hit_falls_behind_and_shows_why() -> None:
    hits = [hit("a", 0.9, "the red key"), hit("b", 0.85, "the red key"), hit("c", 0.8, "a boat")]
    first, second, third = diversify(hits, top_k=3, weight=0.2)
    assert [first.id, second.id, third.id] == ["a", "c", "b"]
    assert third.score == pytest.approx(0.85 * 0.8)
    assert third.parts == {"alike": 1.0}
    assert (first, second) == (hits[0], hits[2])


def test_entities_are_never_taken_for_repetitions() -> None:
    hits = [hit("a", 0.9, "red"), hit("b", 0.8, "red", HitKind.ENTITY)]
    assert diversify(hits, top_k=2, weight=0.5) == hits


@given(st.lists(st.tuples(PART, WORDS), max_size=12), st.integers(1, 12), st.floats(0, 1))
def test_it_is_the_greedy_choice_best_first(found: list[tuple[float, str]], top_k: int, weight: float) -> None:
    hits = [hit(f"{place:02}", score, text) for place, (score, text) in enumerate(found)]
    chosen = diversify(hits, top_k=top_k, weight=weight)
    assert len(chosen) == min(top_k, len(hits))
    scores = [hit.score for hit in chosen]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    if not weight:
        assert chosen == sorted(hits, key=lambda hit: (-hit.score, hit.id))[:top_k]


@given(PART, st.fixed_dictionaries({}, optional=dict.fromkeys(("beside", "speaker", "linked"), PART)))
def test_lifting_never_lowers_and_stays_in_zero_to_one(score: float, parts: dict[str, float]) -> None:
    assert score - 1e-9 <= boosted_score(score, parts, CONVERSATION) <= 1 + 1e-9
    assert boosted_score(score, parts, ENTITY_MEMORY) == score
