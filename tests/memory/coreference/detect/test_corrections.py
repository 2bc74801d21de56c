"""What the user says was meant: in form, and as it changes what is resolved."""

from collections.abc import Awaitable, Callable

import pytest
from memory.coreference.detect.corrections import find_choice

from memory.values.entities import Entity
from memory.values.mentions import EntitySubtype
from memory.values.resolutions import CoreferenceResult

Resolve = Callable[..., Awaitable[CoreferenceResult]]
MakeEntity = Callable[..., Entity]
_ASKED = ("我們買了 HCI-500。我在看 AI-Box", "好", "它多少錢？", "沒有相關的內容")


@pytest.mark.parametrize(
    ("message", "thing"),
    [
        ("不是，我是說 HCI-500", "HCI-500"),
        ("不，是 HCI-500。", "HCI-500"),
        ("我說的是 HCI-500", "HCI-500"),
        ("不是这个，是 HCI-500 啦", "HCI-500"),
        ("不是 AI-Box，是 HCI-500", "HCI-500"),
        ("no, I meant Redis", "Redis"),
        ("Not that one, the Redis server.", "the Redis server"),
        ("not Tom, Kevin", "Kevin"),
        ("Sorry, I was talking about Redis.", "Redis"),
        ("No, I mean Kevin's.", "Kevin"),
    ],
)
def test_a_correction_names_what_was_meant(message: str, thing: str) -> None:
    choice = find_choice(message)
    assert choice is not None
    assert choice.firm
    assert (choice.text, message[choice.start : choice.end]) == (thing, thing)


@pytest.mark.parametrize(
    ("message", "place"),
    [("第二個", 1), ("前者", 0), ("後者吧", -1), ("the first one", 0), ("The latter.", -1), ("最後一個", -1), ("2", 1)],
)
def test_an_answer_may_count(message: str, place: int) -> None:
    choice = find_choice(message)
    assert choice is not None
    assert choice.place == place


@pytest.mark.parametrize(
    "message",
    [
        "不是，他還沒來",
        "不是，我是說真的",
        "不是這樣的",
        "不是，我只是隨便問問",
        "我是 Tom",
        "no, I meant to call you",
        "No, not yet.",
        "No, thanks.",
        "I mean, who cares?",
        "第二個月開始付款",
        "The second one is on Friday.",
    ],
)
async def test_what_only_looks_like_a_correction_revises_nothing(resolve: Resolve, message: str) -> None:
    result = await resolve(message, *_ASKED)
    assert result.revision is None


async def test_a_correction_resolves_the_earlier_query_again(resolve: Resolve, make_entity: MakeEntity) -> None:
    entities = (make_entity("HCI-500", EntitySubtype.PRODUCT), make_entity("AI-Box", EntitySubtype.PRODUCT))
    result = await resolve("不是，我是說 HCI-500", *_ASKED, long_term=entities)
    assert result.resolved_query == "HCI-500 多少錢？"
    assert result.entities_found == (entities[0].entity_id,)
    assert result.revision
    assert result.revision.query == "它多少錢？"
    resolution = result.revision.resolution
    assert (resolution.original_text, resolution.resolved_text, resolution.reason) == ("它", "HCI-500", "使用者指明的")
    assert result.revision.query[resolution.start : resolution.end] == "它"
    assert result.clarification is None


async def test_what_was_understood_is_rejected_by_what_the_session_remembers(resolve: Resolve) -> None:
    history = (
        {"original_text": "它", "resolved_text": "AI-Box", "entity_id": "e1", "source": "session", "confidence": 0.8},
    )
    result = await resolve("不是，我是說 HCI-500", *_ASKED, history=history)
    assert result.revision
    assert result.revision.rejected
    assert (result.revision.rejected.text, result.revision.rejected.entity_id) == ("AI-Box", "e1")


async def test_a_thing_that_nobody_had_mentioned_may_be_meant(resolve: Resolve) -> None:
    result = await resolve("不是，我是說 ArangoDB", *_ASKED)
    assert result.resolved_query == "ArangoDB 多少錢？"


async def test_a_correction_can_be_corrected(resolve: Resolve) -> None:
    result = await resolve("不對，是 Qdrant", *_ASKED, "不是，我是說 HCI-500", "好")
    assert result.resolved_query == "Qdrant 多少錢？"


async def test_a_name_that_was_said_itself_is_corrected_too(resolve: Resolve) -> None:
    result = await resolve("不，我是說 IBM", "宏康的總部在哪？", "好")
    assert result.resolved_query == "IBM 的總部在哪？"


@pytest.mark.parametrize(
    ("turn", "query", "correction", "expected"),
    [
        ("AI-Box 用三年了。HCI-500 剛裝好", "電池能用多久？", "不是，我是說 AI-Box", "AI-Box 的電池能用多久？"),
        ("AI-Box 用三年了。HCI-500 剛裝好", "哪裡買比較便宜", "不是，我是說 AI-Box", "AI-Box 哪裡買比較便宜"),
        ("我问过腾讯。也问过小米", "请问总部有多少人？", "不对，我问的是腾讯", "请问腾讯的总部有多少人？"),
        ("I use Redis. I tried Qdrant.", "What is the monthly price?", "No, Redis.", "What is Redis's monthly price?"),
        (
            "I use Redis. I tried Qdrant.",
            "When does the licence end?",
            "No, I meant Redis",
            "When does Redis's licence end?",
        ),
    ],
)
async def test_a_question_that_names_nothing_is_about_what_the_user_says_it_was(
    resolve: Resolve, turn: str, query: str, correction: str, expected: str
) -> None:
    result = await resolve(correction, turn, "ok", query, "ok")
    assert result.resolved_query == expected
    assert result.revision
    assert result.revision.rejected is None


@pytest.mark.parametrize(
    ("query", "correction"),
    [
        ("我們明天去開會。", "不是，我是說 AI-Box"),
        ("Redis 跟 Qdrant 哪個快？", "不是，我是說 AI-Box"),
        ("Where can I get lunch?", "No, I meant Redis"),
        ("電池能用多久？", "不是，我是說明天"),
        ("電池能用多久？", "AI-Box"),
    ],
)
async def test_where_nothing_says_what_was_left_out_nothing_is_put_in(
    resolve: Resolve, query: str, correction: str
) -> None:
    assert (await resolve(correction, "I use Redis, Qdrant. AI-Box 也在用", "ok", query, "ok")).revision is None


async def test_afterwards_the_reference_means_what_the_user_said(resolve: Resolve) -> None:
    turns = (*_ASKED, "不是，我是說 HCI-500", "好")
    assert (await resolve("它有保固嗎？", *turns)).resolved_query == "HCI-500 有保固嗎？"


async def test_a_correction_that_the_session_remembers_decides_where_two_are_close(resolve: Resolve) -> None:
    turns = ("I tried Redis. I tried Qdrant.", "ok")
    assert (await resolve("Is it fast?", *turns)).clarification
    history = ({"original_text": "it", "resolved_text": "Qdrant", "corrected": "Redis"},)
    result = await resolve("Is it fast?", *turns, history=history)
    assert result.resolved_query == "Is Redis fast?"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("AI-Box", "AI-Box 放在哪裡？"),
        ("是宏康那台", "宏康 HCI 放在哪裡？"),
        ("前者", "AI-Box 放在哪裡？"),
        ("第二個", "宏康 HCI 放在哪裡？"),
        ("後者", "宏康 HCI 放在哪裡？"),
        ("都是", "AI-Box 和宏康 HCI 放在哪裡？"),
    ],
)
async def test_an_answer_to_the_question_resolves_what_was_asked(
    resolve: Resolve, make_entity: MakeEntity, answer: str, expected: str
) -> None:
    entities = (make_entity("AI-Box", EntitySubtype.PRODUCT), make_entity("宏康 HCI", EntitySubtype.PRODUCT))
    turns = ("我們買了 AI-Box 和宏康 HCI。", "了解。", "它放在哪裡？", "「它」是指 AI-Box 還是宏康 HCI？")
    assert (await resolve(answer, *turns, long_term=entities)).resolved_query == expected


async def test_the_assistant_s_own_order_is_the_one_that_is_counted(resolve: Resolve) -> None:
    turns = ("I tried Redis. I tried Qdrant.", "ok", "Is it fast?", "Do you mean Qdrant or Redis?")
    assert (await resolve("the first one", *turns)).resolved_query == "Is Qdrant fast?"
