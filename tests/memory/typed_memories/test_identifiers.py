"""Values that are told apart by a number or a letter merge only where they are equal (DESIGN §6)."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memory.typed_memories.bands import FixedBand
from memory.typed_memories.conflicts import find_conflicts
from memory.typed_memories.identifiers import are_distinct
from memory.values.text import normalise, to_traditional
from memory.values.typed_memories import NewTypedMemory
from tests.memory.typed_memories.harness import NOW


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("RM05-008", "RM05-009"),
        ("Room 101", "Room 102"),
        ("v2.3", "v2.4"),
        ("301室", "302室"),
        ("三樓機房", "四樓機房"),
        ("第一代 AI-Box", "第二代 AI-Box"),
        ("02-2345-6789", "02-2345-6780"),
        ("2026-03-01", "2026-03-02"),
        ("三月五日", "三月六日"),
        ("March 5", "March 6"),
        ("Plan A", "Plan B"),
        ("Type II", "Type III"),
        ("SKU-AB 櫃", "SKU-AC 櫃"),
        ("HCI", "HCL"),
        ("ann@example.org", "anna@example.org"),
        ("db1.example.org", "db.example.org"),
        ("https://example.org/a", "https://example.org/b"),
        ("台北辦公室", "台南辦公室"),
        ("the north entrance of the hall", "the south entrance of the hall"),
        ("在機房左邊的機櫃", "在機房右邊的機櫃"),
        ("first floor", "second floor"),
        ("the Monday meeting", "the Tuesday meeting"),
        ("iPhone 15", "iPhone 15 Pro 2"),
        ("$5", "$6"),
        ("甲方", "乙方"),
        ("10 kg", "10 mg 2"),
        ("Room 301", "301室"),
        ("plan a", "plan b"),
        ("王小明", "王小華"),
        ("宏康科技", "宏碁科技"),
        ("Alice Chen", "Alice Cheng"),
        ("iPhone", "iPad"),
        ("purchase", "sale"),
        ("Ｒｏｏｍ　１０１", "Room 102"),
        ("٣", "٤"),
    ],
)
def test_these_are_two_things(left: str, right: str) -> None:
    assert are_distinct(left, right)
    assert are_distinct(right, left)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("RM05-008", "ＲＭ０５－００８"),
        ("宏康 HCI", "宏康HCI"),
        ("likes dark roast coffee", "likes lightly roasted coffee"),
        ("喜歡喝黑咖啡", "喜歡喝拿鐵"),
        ("lives in Boston", "lives in Denver"),
        ("我住在台北。", "我現在住在高雄。"),
        ("I live in Taipei.", "My home is in Taipei."),
        ("A dog called Pepper lives here", "My dog is called Pepper"),
        ("prefers window seats", "prefers aisle seats"),
        ("the report about Room 101", "a report on Room 101"),
        ("AI-Box 的電源線", "AI-Box 的電源"),
    ],
)
def test_these_may_be_one(left: str, right: str) -> None:
    assert not are_distinct(left, right)


def _codes() -> st.SearchStrategy[str]:
    digits = st.text("0123456789", min_size=1, max_size=6)
    letters = st.text("ABCDEFGHJKLMNPQRSTUVWXYZ", min_size=1, max_size=3)
    numerals = st.sampled_from("一二三四五六七八九十")
    part = st.builds("{}{}-{}".format, letters, digits, digits)
    room = st.one_of(st.builds("Room {}".format, digits), st.builds("{}室".format, digits))
    floor = st.one_of(st.builds("{}樓".format, numerals), st.builds("第{}代機器".format, numerals))
    version = st.builds("v{}.{}".format, digits, digits)
    phone = st.builds("+{} {}-{}".format, digits, digits, digits)
    date = st.one_of(st.dates().map(str), st.dates().map(lambda day: f"{day.month}月{day.day}日"))
    plan = st.builds("Plan {}".format, st.sampled_from("ABCDEFG"))
    return st.one_of(part, room, floor, version, phone, date, plan)


@given(left=_codes(), right=_codes(), kind=st.sampled_from(["part_number", "preference"]))
def test_no_two_identifiers_ever_conflict_however_close_their_vectors(left: str, right: str, kind: str) -> None:
    assume(normalise(left) != normalise(right))
    new, old = (
        NewTypedMemory(entity_type=kind, entity_value=value, confidence=confidence).memory(user_id="ann", at=NOW)
        for value, confidence in ((left, 0.9), (right, 0.1))
    )
    assert find_conflicts(new, [old], {old.memory_id: 0.999}, FixedBand()) == []
    assert new.memory_id != old.memory_id


@given(value=_codes())
def test_an_identifier_in_another_width_case_or_script_is_the_same_memory(value: str) -> None:
    wide = "".join(chr(ord(character) + 0xFEE0) if "!" <= character <= "~" else character for character in value)
    ids = {
        NewTypedMemory(entity_type="part_number", entity_value=spelling).memory(user_id="ann", at=NOW).memory_id
        for spelling in (value, wide, value.lower(), value.upper(), to_traditional(value), f" {value}  ")
    }
    assert len(ids) == 1
    assert not are_distinct(value, wide)
