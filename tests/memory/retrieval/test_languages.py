"""Dense search across languages: what is said counts, and not the language in which (DESIGN §6)."""

import uuid
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.ports.stores.vectors import LANGUAGE, Collection, FloatVector, IndexPoint, IndexQuery
from memory.retrieval.legs import LanguageGap, search_across_languages
from memory.values.hits import SearchFilter
from memory.values.vectors import LanguageGroup, SparseVector
from storage.inmemory.vectors import InMemoryVectors

GAP = LanguageGap(np.array([0.4, 0.0, 0.0], dtype=np.float32))
"""The first dimension is the language: 1 for Chinese, 0.6 for others; the rest is what is said."""
CHINESE, OTHER = LanguageGroup.CHINESE, LanguageGroup.OTHER


def vector(*numbers: float) -> FloatVector:
    array = np.array(numbers, dtype=np.float32)
    return array / np.linalg.norm(array)


def point_id(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def text(name: str, dense: FloatVector, language: LanguageGroup | None) -> IndexPoint:
    payload = {} if language is None else {LANGUAGE: language.value}
    return IndexPoint(point_id(name), dense, SparseVector((1,), (1.0,)), created_at_s=0.0, payload=payload)


async def index_of(*points: IndexPoint) -> InMemoryVectors:
    index = InMemoryVectors(dimension=3)
    await index.upsert(Collection.MEMORIES, points, user_id="ann")
    return index


async def found(index: InMemoryVectors, query: FloatVector, **fields: Any) -> list[tuple[str, float]]:
    queries = [replace(IndexQuery(Collection.MEMORIES, 10, dense=query), **fields)]
    [points] = await search_across_languages(index, queries, gap=GAP, user_id="ann")
    names = {point_id(name): name for name in ("same", "answer", "unrelated", "old")}
    return [(names[point.point_id], round(point.score, 4)) for point in points]


async def stocked() -> InMemoryVectors:
    """A Chinese text about something else is nearer to a Chinese question than the English text that answers it."""
    return await index_of(
        text("unrelated", vector(1.0, 0.0, 0.3), CHINESE), text("answer", vector(0.3, 0.9, 0.0), OTHER)
    )


QUESTION = vector(1.0, 0.5, 0.0)


async def test_the_answer_in_another_language_is_found_before_unrelated_texts_of_the_own() -> None:
    index = await stocked()
    plain = await index.search([IndexQuery(Collection.MEMORIES, 10, dense=QUESTION)], user_id="ann")
    assert [point.point_id for point in plain[0]] == [point_id("unrelated"), point_id("answer")]
    assert [name for name, _ in await found(index, QUESTION)] == ["answer", "unrelated"]


async def test_texts_in_the_language_of_the_question_keep_their_cosine() -> None:
    index = await stocked()
    scores = dict(await found(index, QUESTION))
    assert scores["unrelated"] == pytest.approx(float(QUESTION @ vector(1.0, 0.0, 0.3)), abs=1e-4)
    raised = float(QUESTION @ vector(0.3, 0.9, 0.0)) + float(QUESTION @ GAP.vector)
    assert scores["answer"] == pytest.approx(raised, abs=1e-4)


async def test_an_answer_is_found_however_many_texts_of_the_own_language_are_nearer() -> None:
    others = [text(f"other {n}", vector(1.0, 0.0, 0.3 + n / 100), CHINESE) for n in range(20)]
    index = await index_of(*others, text("answer", vector(0.3, 0.9, 0.0), OTHER))
    assert [name for name, _ in await found(index, QUESTION, limit=1)] == ["answer"]


async def test_a_text_that_was_stored_before_there_were_languages_is_found_by_its_cosine() -> None:
    index = await index_of(text("old", vector(1.0, 0.5, 0.1), None), text("answer", vector(0.3, 0.9, 0.0), OTHER))
    assert dict(await found(index, QUESTION))["old"] == pytest.approx(float(QUESTION @ vector(1, 0.5, 0.1)), abs=1e-4)


async def test_filters_hold_in_both_languages() -> None:
    index = await stocked()
    assert await found(index, QUESTION, filters=SearchFilter(session_id="another")) == []
    with_gap = await search_across_languages(
        index, [IndexQuery(Collection.MEMORIES, 10, dense=QUESTION)], gap=GAP, user_id="bob"
    )
    assert with_gap == [[]]


async def test_words_are_searched_as_ever() -> None:
    index = await stocked()
    query = IndexQuery(Collection.MEMORIES, 10, sparse=SparseVector((1,), (1.0,)))
    assert await search_across_languages(index, [query], gap=GAP, user_id="ann") == await index.search(
        [query], user_id="ann"
    )


@pytest.mark.parametrize(
    ("written", "group"),
    [
        ("台北 101 在信義區", CHINESE),
        ("我們用 RM05-008 測試", CHINESE),
        ("Taipei (臺北) is the capital of Taiwan.", OTHER),
        ("Where is it?", OTHER),
        ("", OTHER),
        ("2026-03-02", OTHER),
    ],
)
def test_a_mixed_text_is_of_the_language_that_most_of_it_has(written: str, group: LanguageGroup) -> None:
    assert LanguageGroup.of(written) is group


@given(st.lists(st.floats(-1, 1, width=32), min_size=3, max_size=3))
def test_a_cosine_is_never_lowered(numbers: list[float]) -> None:
    _, offset = GAP.farther_group(np.array(numbers, dtype=np.float32))
    assert offset >= 0


def test_a_share_of_the_gap_raises_by_that_share() -> None:
    _, whole = GAP.farther_group(QUESTION)
    _, half = GAP.reduced(0.5).farther_group(QUESTION)
    assert half == pytest.approx(whole / 2)
