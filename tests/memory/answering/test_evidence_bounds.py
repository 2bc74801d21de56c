"""Which memories answer, by the thresholds: properties of every choice, whatever was read."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.answering.evidence import choose_evidence, choose_for_prompt, holds_no_longer, may_answer, seems_outdated
from memory.values.evidence import EvidenceBounds
from memory.values.facts import Ending, Standing, Validity
from memory.values.hits import Hit, HitKind

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
BOUNDS = EvidenceBounds()
share = st.floats(0, 1)


def outdated_fact(words: str, ending: Ending = Ending.REPLACED) -> Validity:
    return Validity(
        fact_id=words, subject="user", predicate="likes", object=words, standing=Standing.OUTDATED, ending=ending
    )


def make_hit(number: int, answers: float, outdated: float = 0.0, *validity: Validity, words: str = "tea") -> Hit:
    text = f"I like {words}"
    return Hit(
        kind=HitKind.MEMORY,
        id=str(number),
        text=text,
        words=words,
        score=1.0,
        parts={"answers": answers, "outdated": outdated},
        validity=validity,
        created_at=AT + timedelta(days=number),
    )


hits = st.lists(
    st.builds(
        lambda number, answers, outdated, is_over, words: make_hit(
            number, answers, outdated, *((outdated_fact(words),) if is_over else ()), words=words
        ),
        st.integers(0, 99),
        share,
        share,
        st.booleans(),
        st.sampled_from(["tea", "coffee", "milk"]),
    ),
    max_size=8,
    unique_by=lambda hit: hit.id,
)


@given(hits, share)
def test_what_is_chosen_holds_answers_and_comes_newest_first(found: list[Hit], unanswered: float) -> None:
    evidence = choose_evidence(found, unanswered, BOUNDS)
    enough = [hit for hit in found if not holds_no_longer(hit) and hit.parts["answers"] >= BOUNDS.answer_from]
    if evidence is None:
        assert unanswered >= BOUNDS.abstain_from or not enough
        return
    assert unanswered < BOUNDS.abstain_from
    dates = [hit.created_at for hit in evidence.current]
    assert dates == sorted(dates, reverse=True)
    assert not any(holds_no_longer(hit) for hit in evidence.current)
    if any(seems_outdated(hit, BOUNDS) for hit in evidence.current):
        assert all(seems_outdated(hit, BOUNDS) for hit in enough)
    assert max(hit.parts["answers"] for hit in evidence.current) >= evidence.confidence <= 1.0 - unanswered
    assert sum(hit.parts["answers"] < BOUNDS.beside_from for hit in evidence.current) <= 1
    said = {hit.words for hit in evidence.current}
    for hit in evidence.earlier:
        assert holds_no_longer(hit) or seems_outdated(hit, BOUNDS)
        assert hit.words not in said
        assert hit.created_at < dates[0]


@given(hits)
def test_what_enters_a_prompt_answers_and_holds(found: list[Hit]) -> None:
    fit = [hit for hit in found if hit.parts["answers"] >= BOUNDS.prompt_from and not holds_no_longer(hit)]
    firm = [hit for hit in fit if not seems_outdated(hit, BOUNDS)]
    assert choose_for_prompt(found, BOUNDS) == (firm or fit)
    assert not choose_for_prompt([hit.model_copy(update={"words": None}) for hit in found], BOUNDS)


def test_what_only_seems_out_of_date_answers_where_nothing_else_does() -> None:
    only, newer = make_hit(1, 0.35, 0.53), make_hit(2, 0.6, words="coffee")
    alone = choose_evidence([only], 0.5, BOUNDS)
    assert alone is not None
    assert alone.current == (only,)
    beside = choose_evidence([only, newer], 0.1, BOUNDS)
    assert beside is not None
    assert beside.current == (newer,)
    assert beside.earlier == (only,)


def test_what_only_seems_out_of_date_is_older_where_it_answers_or_something_takes_its_place() -> None:
    other, newer = make_hit(1, 0.1, 0.9), make_hit(2, 0.6, words="coffee")
    chosen = choose_evidence([other, newer], 0.1, BOUNDS)
    assert chosen is not None
    assert chosen.earlier == ()
    linked = choose_evidence([other, newer.model_copy(update={"instead_of": other.text})], 0.1, BOUNDS)
    assert linked is not None
    assert linked.earlier == (other,)


def test_of_an_earlier_time_what_is_known_to_have_held_then_is_told() -> None:
    held = outdated_fact("tea").model_copy(update={"standing": Standing.HELD})
    known, read = make_hit(1, 0.4, 0.0, held), make_hit(2, 0.9, words="coffee")
    evidence = choose_evidence([known, read], 0.1, BOUNDS)
    assert evidence is not None
    assert evidence.current == (known,)
    within = held.model_copy(update={"ending": None})
    evidence = choose_evidence([make_hit(1, 0.4, 0.0, within), read], 0.1, BOUNDS)
    assert evidence is not None
    assert evidence.current == (read,)


@pytest.mark.parametrize(
    ("ending", "is_named"),
    [(Ending.REPLACED, True), (Ending.ENDED, True), (Ending.RETRACTED, False), (Ending.CANCELLED, False)],
)
def test_what_never_held_is_not_named_as_older(ending: Ending, is_named: bool) -> None:
    old = make_hit(1, 0.9, 0.0, outdated_fact("coffee", ending), words="coffee")
    evidence = choose_evidence([make_hit(2, 0.9), old], 0.1, BOUNDS)
    assert evidence is not None
    assert bool(evidence.earlier) is is_named


def test_only_the_words_that_are_out_of_date_disqualify_a_memory() -> None:
    both = make_hit(1, 0.9, 0.0, outdated_fact("coffee"), words="tea").model_copy(
        update={"text": "I like tea, and coffee too"}
    )
    assert not holds_no_longer(both)
    assert holds_no_longer(both.model_copy(update={"words": "coffee"}))


def test_bounds_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match=r"beside_from: must be at least answer_from, 0\.6; given: 0\.5"):
        EvidenceBounds(answer_from=0.6, beside_from=0.5)


def test_of_two_memories_that_may_answer_the_one_that_was_found_better_comes_first() -> None:
    near, far = make_hit(1, 0.6), make_hit(2, 0.7).model_copy(update={"score": 0.5})
    evidence = choose_evidence([far, near], 0.1, BOUNDS.model_copy(update={"beside_from": 0.9}))
    assert evidence is not None
    assert evidence.current == (near,)


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("When is the hall free?", False),
        ("我女兒五歲，可以吃蜂蜜嗎？", True),
        ("What I like best is jazz", True),
        ("The hall is free on Monday.", True),
    ],
)
def test_one_question_answers_none_though_a_fact_was_read_in_it(text: str, may: bool) -> None:
    fact = Validity(fact_id="f", subject="user", predicate="likes", object="it", standing=Standing.HOLDS)
    hit = make_hit(1, 0.9).model_copy(update={"text": text, "validity": (fact,)})
    assert may_answer(hit) is may


def test_an_excerpt_of_a_document_is_quoted_from_a_probability_of_its_own() -> None:
    read = make_hit(1, 0.4)
    excerpt = read.model_copy(update={"kind": HitKind.KNOWLEDGE})
    assert choose_evidence([read], 0.1, BOUNDS) is not None
    assert choose_evidence([excerpt], 0.1, BOUNDS) is None
    assert choose_evidence([excerpt], 0.1, EvidenceBounds(document_from=0.4)) is not None
