"""A correction after a statement replaces what it stands against; where that cannot be told nothing is replaced."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.coreference.corrections import find_choice
from memory.coreference.counterparts import counterpart
from memory.coreference.resolver import ReadingResolver
from memory.values.understanding.dialogue import HistoryEntry
from memory.values.understanding.extractions import Extraction
from memory.values.understanding.resolutions import CoreferenceResult
from tests.memory.coreference.notation import mentions_in, remembered, request
from tests.memory.coreference.notation import resolve as resolve_marked

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


async def resolve(correction: str, *turns: str, history: Sequence[HistoryEntry] = ()) -> CoreferenceResult:
    """A correction, which the reader leaves as it is."""
    extraction = Extraction(mentions=mentions_in(correction))
    return await ReadingResolver(floor=0.5).resolve(request(correction, turns, history=tuple(history)), extraction)


@pytest.mark.parametrize(
    ("turn", "correction", "expected"),
    [
        ("鑰匙放在二樓。", "不是，我是說一樓。", "鑰匙放在一樓。"),
        ("AI-Box 放在二樓。", "不是，我是說一樓。", "AI-Box 放在一樓。"),
        ("AI-Box 放在二樓。", "不是二樓，是十二樓", "AI-Box 放在十二樓。"),
        ("AI-Box 放在十一樓。", "不是一樓，是二樓", "AI-Box 放在二樓。"),
        ("办公室有三台打印机。", "不对，是五台。", "办公室有五台打印机。"),
        ("房租是八千元。", "說錯了，是九千元", "房租是九千元。"),
        ("The key is on the second floor.", "No, I meant the first floor.", "The key is on the first floor."),
        ("We need twelve chairs.", "Sorry, I meant fifteen.", "We need fifteen chairs."),
        ("I paid $30 for it.", "No, $40.", "I paid $40 for it."),
    ],
)
async def test_a_number_stands_against_the_other_one_of_its_unit(turn: str, correction: str, expected: str) -> None:
    result = await resolve(correction, turn, "ok")
    assert result.resolved_query == expected
    assert result.revision
    resolution = result.revision.resolution
    assert result.revision.query == turn
    assert turn[resolution.start : resolution.end] == resolution.original_text


@pytest.mark.parametrize(
    ("turn", "correction", "expected"),
    [
        ("會議在星期三下午三點。", "不是，我是說星期四。", "會議在星期四下午三點。"),
        ("会议在周三下午三点。", "不对，是四点。", "会议在周三下午四点。"),
        ("我的生日是三月五號。", "不對，是五月三號。", "我的生日是五月三號。"),
        ("We meet on Monday at 8 pm.", "No, I meant Tuesday.", "We meet on Tuesday at 8 pm."),
        ("We meet on Monday at 8 pm.", "No, at 9 pm.", "We meet on Monday at 9 pm."),
        ("I moved to Paris in May.", "No, I meant June.", "I moved to Paris in June."),
    ],
)
async def test_a_time_stands_against_a_time_of_the_same_kind(turn: str, correction: str, expected: str) -> None:
    assert (await resolve(correction, turn, "ok")).resolved_query == expected


@pytest.mark.parametrize(
    ("turn", "correction", "expected"),
    [
        ("我買了紅色的車。", "不是，我是說藍色的車。", "我買了藍色的車。"),
        ("I sold the red car.", "No, I meant the blue car.", "I sold the blue car."),
        ("钥匙在抽屉里。", "不对，是在冰箱上。", "钥匙在冰箱上。"),
        ("The key is in the drawer.", "No, on the fridge.", "The key is on the fridge."),
    ],
)
async def test_a_description_stands_against_one_of_the_same_form(turn: str, correction: str, expected: str) -> None:
    assert (await resolve(correction, turn, "ok")).resolved_query == expected


@pytest.mark.parametrize(
    ("turn", "correction", "expected"),
    [
        ("AI-Box 放在台北。", "不是，我是說高雄", "AI-Box 放在高雄。"),
        ("它放在台北。", "不是，我是說高雄", "它放在高雄。"),
        ("Tom moved to Paris.", "No, I meant Kyoto.", "Tom moved to Kyoto."),
        ("Tom moved to Paris.", "No, I meant Bob.", "Bob moved to Paris."),
    ],
)
async def test_a_name_stands_against_a_name_of_its_type(turn: str, correction: str, expected: str) -> None:
    assert (await resolve(correction, turn, "ok")).resolved_query == expected


@pytest.mark.parametrize(
    ("turn", "correction"),
    [
        ("鑰匙放在抽屜。", "不是，我是說一樓。"),
        ("一樓和二樓都滿了。", "不是，我是說三樓。"),
        ("AI-Box 有保固。", "不是，我是說明天。"),
        ("AI-Box 有保固。", "不對，是三樓"),
        ("他周一来，周三走。", "不对，是周五。"),
        ("Alice met Tom.", "No, I meant Bob."),
        ("We meet at the station.", "No, I meant at least five."),
        ("Redis runs on Monday and on Friday.", "No, I meant Tuesday."),
    ],
)
async def test_where_nothing_or_several_have_the_form_the_message_stays_as_it_is(turn: str, correction: str) -> None:
    result = await resolve(correction, turn, "ok")
    assert (result.revision, result.resolved_query) == (None, correction)


async def test_what_else_refers_in_the_statement_is_resolved_as_before() -> None:
    turns = ["我們買了 AI-Box。", "好"]
    stated = await resolve_marked("{它|AI-Box}放在二樓。", *turns)
    result = await resolve("不是，我是說一樓。", *turns, stated.original_query, "好", history=remembered(stated))
    assert result.resolved_query == "AI-Box 放在一樓。"


async def test_a_corrected_value_can_be_corrected_again() -> None:
    turns = ("鑰匙放在二樓。", "好", "不是，我是說一樓。", "好")
    first = await resolve(turns[2], *turns[:2])
    second = await resolve("不對，是三樓。", *turns, history=remembered(first))
    assert second.resolved_query == "鑰匙放在三樓。"
    assert second.revision
    assert second.revision.rejected
    assert second.revision.rejected.text == "一樓"


@pytest.mark.parametrize(
    ("turn", "query", "reply", "correction", "expected"),
    [
        (
            "I moved to Paris.",
            "Where do I live?",
            "You moved to Paris.",
            "No wait, I meant Kyoto.",
            "I moved to Kyoto.",
        ),
        ("I parked the car in Paris.", "Where is it?", "In Paris.", "No, I meant Kyoto.", "I parked the car in Kyoto."),
        (
            "We meet on March 3rd at 9 am.",
            "When do we meet?",
            "On March 3rd at 9 am.",
            "Sorry, at 10 am.",
            "We meet on March 3rd at 10 am.",
        ),
        ("護照放在書房的抽屜裡。", "它在哪裡？", "書房的抽屜裡。", "說錯了，是臥室的抽屜。", "護照放在臥室的抽屜裡。"),
        ("張小姐是護士。", "她在哪工作？", "張小姐是護士。", "不是護士，是藥師。", "張小姐是藥師。"),
    ],
)
async def test_after_a_question_the_statement_that_the_reply_repeats_is_corrected(
    turn: str, query: str, reply: str, correction: str, expected: str
) -> None:
    assert (await resolve(correction, turn, "ok", query, reply)).resolved_query == expected


async def test_what_is_taken_back_by_name_is_looked_for_further_back() -> None:
    turns = ("會議室在三樓，茶水間在五樓。", "好", "今天好熱。", "好")
    assert (await resolve("不是五樓，是六樓。", *turns)).resolved_query == "會議室在三樓，茶水間在六樓。"


async def test_a_statement_that_the_reply_does_not_repeat_is_left_alone() -> None:
    result = await resolve("No, at 10 am.", "We meet at 9 am.", "ok", "Is it sunny?", "I do not know.")
    assert result.revision is None


@pytest.mark.parametrize(
    ("turn", "correction", "expected"),
    [
        ("The password is tulip-42.", "No, tulip-43.", "The password is tulip-43."),
        ("料號是 RM05-008。", "不對，是 RM05-009。", "料號是 RM05-009。"),
    ],
)
async def test_an_identifier_stands_against_the_other_one_of_its_make(
    turn: str, correction: str, expected: str
) -> None:
    assert (await resolve(correction, turn, "ok")).resolved_query == expected


@given(st.sampled_from(_DAYS), st.sampled_from(_DAYS))
def test_no_part_of_a_word_is_replaced(one: str, other: str) -> None:
    turn = f"The {one} paper is sold on {one}."
    choice = find_choice(f"No, I meant {other}.")
    assert choice
    assert counterpart(turn, choice) is None
    replaced = counterpart(f"We meet on {one}.", choice)
    assert (replaced is None) == (one == other)
    assert replaced is None or replaced.text == other
