"""A turn that only corrects is not quoted; what it makes of the turn before is, and that turn is not any more."""

from datetime import UTC, datetime, timedelta

import pytest

from memory.answering.answers import Answer, AnswerRequest
from memory.answering.extractive import ExtractiveAnswerer
from memory.language.keywords import KeywordAnalyzer
from memory.values.hits import CosineBounds, Hit, HitKind

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
ANSWERER = ExtractiveAnswerer(analyzer=KeywordAnalyzer(), min_cosine=CosineBounds(chinese=0.5, other=0.5))


def make_hit(text: str, *, minute: int = 0, resolved: str | None = None, session: str = "s") -> Hit:
    return Hit(
        id=text,
        kind=HitKind.MEMORY,
        text=text,
        resolved=resolved,
        score=1.0,
        parts={"cosine": 0.99},
        session_id=session,
        created_at=AT + timedelta(minutes=minute),
    )


async def ask(question: str, *hits: Hit) -> Answer:
    request = AnswerRequest(message=question, resolved=question, hits=hits, now=AT + timedelta(hours=1))
    return await ANSWERER.answer(request)


@pytest.mark.parametrize("text", ["不是，我是說宏康 HCI", "不对，我说的是小米。", "No, I meant Bob.", "我是說二樓"])
async def test_a_correction_that_changed_nothing_is_never_quoted(text: str) -> None:
    assert (await ask("宏康 HCI 放在哪裡？", make_hit(text))).sources == ()


@pytest.mark.parametrize(
    "text", ["我是說他昨天辭職了", "No, it's broken since May.", "No, I live in Berlin.", "不是，他還沒來"]
)
async def test_a_statement_that_contradicts_is(text: str) -> None:
    assert [source.id for source in (await ask("怎麼樣？", make_hit(text))).sources] == [text]


async def test_a_corrected_question_states_nothing() -> None:
    correction = make_hit("不是，我是說 HCI-500", resolved="HCI-500 多少錢？")
    assert (await ask("HCI-500 的價格是多少？", correction)).sources == ()


@pytest.mark.parametrize(
    ("question", "first", "correction", "meant"),
    [
        ("鑰匙在哪裡？", "鑰匙放在二樓。", "不是，我是說一樓。", "鑰匙放在一樓。"),
        ("会议在什么时候？", "会议在周三。", "不对，是周四。", "会议在周四。"),
        ("When is the meeting?", "The meeting is on Monday.", "No, I meant Tuesday.", "The meeting is on Tuesday."),
    ],
)
async def test_a_corrected_statement_is_quoted_as_it_was_meant_and_no_longer_as_it_was_said(
    question: str, first: str, correction: str, meant: str
) -> None:
    answer = await ask(question, make_hit(first), make_hit(correction, minute=1, resolved=meant))
    assert [source.id for source in answer.sources] == [correction]
    assert meant in answer.text
    assert first not in answer.text


async def test_of_two_corrections_the_last_holds() -> None:
    hits = (
        make_hit("鑰匙放在二樓。"),
        make_hit("不是，我是說一樓。", minute=1, resolved="鑰匙放在一樓。"),
        make_hit("不對，是三樓。", minute=2, resolved="鑰匙放在三樓。"),
    )
    assert [source.id for source in (await ask("鑰匙在哪裡？", *hits)).sources] == ["不對，是三樓。"]


async def test_what_was_said_elsewhere_or_afterwards_is_not_taken_back() -> None:
    correction = make_hit("不是，我是說一樓。", minute=1, resolved="鑰匙放在一樓。")
    elsewhere, afterwards = make_hit("鑰匙放在二樓。", session="t"), make_hit("鑰匙放在三樓。", minute=2)
    answer = await ask("鑰匙在哪裡？", correction, elsewhere, afterwards)
    assert {source.id for source in answer.sources} == {correction.id, elsewhere.id, afterwards.id}
