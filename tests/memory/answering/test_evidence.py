"""What is quoted as an answer: statements, not turns that said nothing by themselves."""

from datetime import UTC, datetime

import pytest

from memory.answering.answers import AnswerRequest
from memory.answering.extractive import ExtractiveAnswerer
from memory.language.keywords import KeywordAnalyzer
from memory.values.hits import CosineBounds, Hit, HitKind

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
ANSWERER = ExtractiveAnswerer(analyzer=KeywordAnalyzer(), min_cosine=CosineBounds(chinese=0.5, other=0.5))


async def _sources(text: str) -> list[str]:
    hit = Hit(id="m", kind=HitKind.MEMORY, text=text, score=1.0, parts={"cosine": 0.99}, created_at=AT)
    question = "AI-Box 的保固多久？"
    request = AnswerRequest(message=question, resolved=question, hits=(hit,), now=AT)
    return [source.id for source in (await ANSWERER.answer(request)).sources]


@pytest.mark.parametrize("text", ["前者", "後者。", "The latter.", "好的", "ok", "謝謝", "……"])
async def test_a_turn_that_says_nothing_by_itself_is_never_quoted(text: str) -> None:
    assert await _sources(text) == []


@pytest.mark.parametrize("text", ["保固三年", "三年", "2027-03-01", "AI-Box"])
async def test_a_short_statement_is(text: str) -> None:
    assert await _sources(text) == ["m"]
