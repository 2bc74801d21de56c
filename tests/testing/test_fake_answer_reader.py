"""The answer reader without weights."""

from datetime import UTC, datetime

import pytest

from memory.ports.models.answer_reading import AnswerReadRequest, DatedLine
from memory.values.errors import Overloaded
from testing.fakes.answer_reader import FakeAnswerReader

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def asking(question: str, *texts: str) -> AnswerReadRequest:
    return AnswerReadRequest(question=question, lines=tuple(DatedLine(text=text, said_at=AT) for text in texts), now=AT)


async def test_a_line_answers_as_far_as_it_holds_the_words_of_the_question() -> None:
    [reading] = await FakeAnswerReader().read([asking("blue key?", "the blue key", "a key", "soup")])
    assert [line.answers for line in reading.lines] == [1.0, 0.5, 0.0]
    assert reading.unanswered == 0.0
    [nothing] = await FakeAnswerReader().read([asking("blue key?")])
    assert (nothing.lines, nothing.unanswered) == ((), 1.0)


async def test_what_is_scripted_answers_in_its_words() -> None:
    reader = FakeAnswerReader(
        answers={"Where do I live?": {"York": "York"}, "When?": {"York": ""}, "Who?": {}},
        outdated={"Where do I live?": {"Leeds": "Leeds"}},
    )
    lines = ("I live in Leeds", "We moved to York", "soup")
    where, when, who = await reader.read([asking(question, *lines) for question in reader.answers])
    assert [(line.answers > 0.5, line.outdated > 0.5) for line in where.lines] == [
        (False, True),
        (True, False),
        (False, False),
    ]
    assert [text[line.start : line.end] for line, text in zip(where.lines, lines, strict=True)] == ["Leeds", "York", ""]
    assert (when.lines[1].start, when.lines[1].end) == (0, 0)
    assert where.unanswered < 0.1 < 0.9 < who.unanswered


async def test_it_fails_where_it_is_told_to() -> None:
    with pytest.raises(Overloaded):
        await FakeAnswerReader(error=Overloaded("full")).read([])
