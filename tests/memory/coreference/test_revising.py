"""What the user says was meant: corrections, and answers to a question of our own."""

from collections.abc import Sequence

import pytest

from memory.coreference.corrections import find_choice
from memory.coreference.resolver import ReadingResolver
from memory.values.understanding.dialogue import HistoryEntry
from memory.values.understanding.extractions import Extraction
from memory.values.understanding.mentions import EntitySubtype
from memory.values.understanding.readings import Intent
from memory.values.understanding.resolutions import CoreferenceResult
from tests.memory.coreference.notation import entity, mentions_in, remembered, request, resolve

_SAID = "我們買了 HCI-500。我在看 AI-Box"


async def say(
    message: str, turns: Sequence[str], history: Sequence[HistoryEntry] = (), *intents: Intent, **fields: object
) -> CoreferenceResult:
    """A message that the reader leaves as it is."""
    extraction = Extraction(mentions=mentions_in(message), intents=intents)
    return await ReadingResolver().resolve(request(message, turns, history=tuple(history), **fields), extraction)


async def after(message: str, marked: str, *turns: str, **fields: object) -> CoreferenceResult:
    """A message after a marked query that the session remembers."""
    resolved = await resolve(marked, *turns)
    return await say(message, [*turns, resolved.original_query, "嗯。"], remembered(resolved), **fields)


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
    assert choice.corrects
    assert (choice.text, message[choice.start : choice.end]) == (thing, thing)


@pytest.mark.parametrize(
    ("message", "place"),
    [("第二個", 1), ("前者", 0), ("後者吧", -1), ("the first one", 0), ("The latter.", -1), ("最後一個", -1), ("2", 1)],
)
def test_an_answer_may_count(message: str, place: int) -> None:
    choice = find_choice(message)
    assert choice is not None
    assert (choice.place, choice.corrects) == (place, False)


@pytest.mark.parametrize(
    ("marked", "turn", "correction", "expected", "rejected"),
    [
        ("{它|AI-Box}多少錢？", _SAID, "不是，我是說 HCI-500", "HCI-500 多少錢？", "AI-Box"),
        ("{它|AI-Box}多少錢？", _SAID, "不是 AI-Box，是 HCI-500", "HCI-500 多少錢？", "AI-Box"),
        ("{它|AI-Box}多少钱？", "我们买了 AI-Box", "不对，我说的是微信", "微信多少钱？", "AI-Box"),
        ("{它|AI-Box}放在哪裡？", _SAID, "不是，我是說宏康那台", "宏康放在哪裡？", "AI-Box"),
        ("Is {it|Redis} fast?", "I use Redis. I tried Qdrant.", "No, I meant Qdrant.", "Is Qdrant fast?", "Redis"),
        ("Is {it|Redis} fast?", "I use Redis. I tried Qdrant.", "No, Qdrant.", "Is Qdrant fast?", "Redis"),
        ("When is {her|Alice|Alice's} birthday?", "Alice and Ann", "no, Ann", "When is Ann's birthday?", "Alice"),
        ("{|AI-Box|AI-Box 的}保固多久？", _SAID, "不是，我是說 HCI-500", "HCI-500 的保固多久？", "AI-Box"),
        ("What is the price{|Redis|of Redis}?", "Redis, Qdrant", "No, Qdrant", "What is the price of Qdrant?", "Redis"),
    ],
)  # fmt: skip
async def test_a_correction_resolves_the_earlier_query_again(
    marked: str, turn: str, correction: str, expected: str, rejected: str
) -> None:
    result = await after(correction, marked, turn, "好")
    assert result.original_query == correction
    assert result.resolved_query == expected
    assert result.revision
    assert result.revision.rejected
    assert result.revision.rejected.text == rejected
    assert result.clarification is None


async def test_the_revision_says_where_and_whom() -> None:
    known = entity("HCI-500", EntitySubtype.PRODUCT)
    result = await after("不是，我是說 HCI-500", "{它|AI-Box}多少錢？", _SAID, "好", long_term=(known,))
    assert result.entities_found == (known.entity_id,)
    assert result.revision
    assert result.revision.query == "它多少錢？"
    resolution = result.revision.resolution
    assert (resolution.original_text, resolution.resolved_text, resolution.reason) == ("它", "HCI-500", "使用者指明的")
    assert (resolution.start, resolution.end, resolution.entity_id) == (0, 1, known.entity_id)
    assert result.revision.rejected
    assert result.revision.rejected.entity_id == entity("AI-Box").entity_id


async def test_the_reference_of_the_same_type_is_corrected_and_the_other_stays() -> None:
    marked, turns = "{她|張小姐}喜歡{那裡|京都}嗎？", ("張小姐去了京都", "好", "我住台北", "好")
    result = await after("不是，我是說台北", marked, *turns)
    assert result.resolved_query == "張小姐喜歡台北嗎？"
    assert set(result.entities_found) == {entity("張小姐").entity_id, entity("台北").entity_id}
    assert (await after("不是，我是說李老師", marked, *turns)).resolved_query == "李老師喜歡京都嗎？"


async def test_a_thing_that_nobody_had_mentioned_may_be_meant() -> None:
    assert (
        await after("不是，我是說 ArangoDB", "{它|AI-Box}多少錢？", _SAID, "好")
    ).resolved_query == "ArangoDB 多少錢？"


async def test_a_description_may_be_meant_where_the_reader_finds_a_correction() -> None:
    asked = await resolve("{它|三樓機房}幾坪？", "三樓機房在整修")
    turns = ["三樓機房在整修", "好", asked.original_query, "好"]
    revised = await say("不是，我是說倉庫", turns, remembered(asked), Intent.CORRECTION)
    assert revised.resolved_query == "倉庫幾坪？"
    assert (await say("不是，我是說倉庫", turns, remembered(asked), Intent.CHITCHAT)).revision is None


async def test_a_correction_can_be_corrected() -> None:
    asked = await resolve("{它|AI-Box}多少錢？", _SAID)
    turns, history = [_SAID, "好", asked.original_query, "好"], remembered(asked)
    first = await say("不是，我是說 HCI-500", turns, history)
    turns, history = [*turns, first.original_query, "好"], [*history, *remembered(first)]
    second = await say("不對，是 Qdrant", turns, history)
    assert second.resolved_query == "Qdrant 多少錢？"
    assert second.revision
    assert second.revision.rejected
    assert second.revision.rejected.text == "HCI-500"


async def test_a_name_that_was_said_itself_is_corrected_too() -> None:
    assert (await say("不，我是說 IBM", ["宏康的總部在哪？", "好"])).resolved_query == "IBM 的總部在哪？"
    assert (await say("No, I meant Bob.", ["Tom moved to Paris.", "ok"])).resolved_query == "Bob moved to Paris."
    assert (await say("No, I meant Kyoto.", ["Tom moved to Paris.", "ok"])).resolved_query == "Tom moved to Kyoto."
    assert (await say("No, I meant Kevin.", ["Tom met Bob.", "ok"])).revision is None


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
        "AI-Box",
    ],
)
@pytest.mark.parametrize("intents", [(), (Intent.DENY,), (Intent.STATEMENT,)])
async def test_what_only_looks_like_a_correction_revises_nothing(message: str, intents: tuple[Intent, ...]) -> None:
    asked = await resolve("{它|AI-Box}多少錢？", _SAID)
    result = await say(message, [_SAID, "好", asked.original_query, "好"], remembered(asked), *intents)
    assert (result.revision, result.resolved_query) == (None, message)


_ANSWERS = [
    ("AI-Box", "AI-Box 放在哪裡？"),
    ("是宏康那台", "宏康 HCI 放在哪裡？"),
    ("前者", "AI-Box 放在哪裡？"),
    ("第二個", "宏康 HCI 放在哪裡？"),
    ("後者", "宏康 HCI 放在哪裡？"),
    ("都是", "AI-Box 和宏康 HCI 放在哪裡？"),
    ("兩個都要", "AI-Box 和宏康 HCI 放在哪裡？"),
]


@pytest.mark.parametrize(("answer", "expected"), _ANSWERS)
async def test_an_answer_to_the_question_resolves_what_was_asked(answer: str, expected: str) -> None:
    result = await after(answer, "{它|?AI-Box?宏康 HCI}放在哪裡？", "我們買了 AI-Box 和宏康 HCI。", "好")
    assert result.resolved_query == expected
    assert result.revision
    assert result.revision.query == "它放在哪裡？"
    assert result.revision.rejected is None


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Redis", "Redis 贵吗？"),
        ("第一个", "Redis 贵吗？"),
        ("后者", "Qdrant 贵吗？"),
        ("都是", "Redis 和 Qdrant 贵吗？"),
        ("应该是 Qdrant 吧", "Qdrant 贵吗？"),
    ],
)
async def test_the_same_in_simplified_chinese(answer: str, expected: str) -> None:
    result = await after(answer, "{它|?Redis?Qdrant}贵吗？", "我们买了 Redis 和 Qdrant。", "好")
    assert result.resolved_query == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Dyson", "How long does Dyson's battery last?"),
        ("The second one.", "How long does Shark's battery last?"),
        ("the former", "How long does Dyson's battery last?"),
        ("I think the Shark", "How long does Shark's battery last?"),
        ("both", "How long does Dyson and Shark's battery last?"),
    ],
)
async def test_the_same_in_english(answer: str, expected: str) -> None:
    marked = "How long does {its|?Dyson?Shark|Dyson's} battery last?"
    assert (await after(answer, marked, "The Dyson or the Shark?", "ok")).resolved_query == expected


async def test_the_answer_fills_a_gap_that_was_asked_about() -> None:
    result = await after("台南那間", "多少錢{|?台北那間?台南那間}？", "台北那間和台南那間", "好")
    assert result.resolved_query == "多少錢台南那間？"


async def test_the_assistant_s_own_order_is_the_one_that_is_counted() -> None:
    asked = await resolve("Is {it|?Redis?Qdrant} fast?", "I tried Redis. I tried Qdrant.")
    turns = ["I tried Redis. I tried Qdrant.", "ok", asked.original_query, "Do you mean Qdrant or Redis?"]
    assert (await say("the first one", turns, remembered(asked))).resolved_query == "Is Qdrant fast?"


@pytest.mark.parametrize("message", ["第五個", "早安", "Postgres", "AI-Box 昨天壞了，很麻煩"])
async def test_what_chooses_no_option_answers_nothing(message: str) -> None:
    result = await after(message, "{它|?AI-Box?HCI-500}放在哪裡？", _SAID, "好")
    assert (result.revision, result.resolved_query) == (None, message)


async def test_a_question_is_no_answer() -> None:
    asked = await resolve("{它|?AI-Box?HCI-500}放在哪裡？", _SAID)
    turns = [_SAID, "好", asked.original_query, "好"]
    assert (await say("AI-Box?", turns, remembered(asked), Intent.QUESTION)).revision is None
    assert (await say("AI-Box", turns, remembered(asked), Intent.QUESTION)).revision
    assert (await say("AI-Box", turns, remembered(asked), Intent.STATEMENT)).revision


async def test_what_was_not_asked_in_this_session_cannot_be_answered() -> None:
    asked = await resolve("{它|?AI-Box?HCI-500}放在哪裡？", _SAID)
    assert (await say("後者", [_SAID, "好", asked.original_query, "好"])).revision is None
    assert (await say("後者", [], remembered(asked))).revision is None
    assert (await say("後者", ["另一件事", "好"], remembered(asked))).revision is None


async def test_while_the_reader_is_away_a_correction_is_understood_by_its_form() -> None:
    asked = await resolve("{它|AI-Box}多少錢？", _SAID)
    extraction = Extraction(degraded=("reader",))
    query = request("不是，我是說 HCI-500", [_SAID, "好", asked.original_query, "好"], history=tuple(remembered(asked)))
    result = await ReadingResolver().resolve(query, extraction)
    assert (result.resolved_query, result.degraded) == ("HCI-500 多少錢？", ("reader",))
