import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.values.understanding.readings import Context, ReadRequest
from models.body.edit_units import split_edit_units
from models.reader.features import MAX_CONTEXT_TOKENS, MAX_TOKENS, FeatureReader, joined_names
from tests.models.reader.toys import read, toy_reader

TEXTS = st.text(alphabet="他喜欢蘋果 abc12.,，。？!\n", max_size=40)


def windows_of(text: str, reader: FeatureReader, *turns: str) -> list[str]:
    windows = reader.read(ReadRequest(text=text, context=Context(turns=turns)))
    return [text[window.units[0].start : window.units[-1].end] for window in windows]


def test_a_message_is_read_after_the_names_of_memory_and_its_turns() -> None:
    features = read("它多少錢", "我想買 AI-Box", "好的", names=("宏康", "小美"))
    assert features.source.turns == ("宏康、小美", "我想買 AI-Box", "好的")
    assert features.turn_numbers == (None, 0, 1)
    assert len(features.context_tokens) == len(features.source.units) == 13
    assert len(features.unit_tokens) == len(features.units) == 4
    assert features.unit_tokens[0][0] == features.message_start > features.context_tokens[-1][1]
    assert features.token_count == features.message_start + 4 + 1


def test_an_empty_turn_is_left_out_and_the_others_keep_their_numbers() -> None:
    assert read("好", "", "一", "", "二").turn_numbers == (1, 3)
    assert read("好").turn_numbers == ()
    assert joined_names(("宏康", "AI-Box")) == "宏康、AI-Box"


def test_a_long_context_keeps_its_first_turn_and_the_latest() -> None:
    features = read("它呢", "主题", *("很长" * 30 for _ in range(9)), "最后")
    assert features.source.turns[0] == "主题"
    assert features.source.turns[-1] == "最后"
    assert features.turn_numbers[0] == 0
    assert features.turn_numbers[1:] == tuple(range(11 - len(features.turn_numbers) + 1, 11)) != ()
    assert features.message_start <= MAX_CONTEXT_TOKENS + 1


def test_a_long_first_turn_leaves_room_for_the_latest_and_has_all_of_it_alone() -> None:
    alone = read("它呢", "字" * 500)
    assert len(alone.source.turns[0]) == MAX_CONTEXT_TOKENS - 1
    followed = read("它呢", "字" * 500, "最后")
    assert 20 < len(followed.source.turns[0]) < 40
    assert followed.source.turns[1] == "最后"


@given(turns=st.lists(st.text(alphabet="字a ，", max_size=300), max_size=6), text=TEXTS)
def test_a_context_has_beginnings_of_its_turns_within_the_limit(turns: list[str], text: str) -> None:
    features = toy_reader().read(ReadRequest(text=text, context=Context(turns=tuple(turns))))[0]
    numbers = [number for number in features.turn_numbers if number is not None]
    assert numbers == sorted(set(numbers))
    for kept, number in zip(features.source.turns, numbers, strict=True):
        assert turns[number].startswith(kept)
    assert features.message_start <= MAX_CONTEXT_TOKENS + 1


@given(st.lists(TEXTS, max_size=30).map("".join))
def test_windows_have_every_unit_once_with_its_offsets(text: str) -> None:
    windows = toy_reader().read(ReadRequest(text=text, context=Context(turns=("之前",))))
    assert [unit for window in windows for unit in window.units] == split_edit_units(text)
    assert all(window.text == text for window in windows)
    assert all(window.token_count <= MAX_CONTEXT_TOKENS + MAX_TOKENS + 2 for window in windows)


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_white_space_is_one_window_without_units(text: str, reader: FeatureReader) -> None:
    (window,) = reader.read(ReadRequest(text=text, context=Context(turns=("你好",))))
    assert window.units == ()
    assert window.source.turns == ("你好",)


def test_a_long_message_is_cut_behind_sentences(reader: FeatureReader) -> None:
    windows = windows_of("甲乙丙丁戊己庚辛壬癸。" * 60, reader)
    assert len(windows) == 3
    assert all(window.endswith("癸。") for window in windows)


def test_else_behind_clauses_or_lines_else_anywhere(reader: FeatureReader) -> None:
    assert all(window.endswith("，") for window in windows_of("甲乙丙丁戊己庚辛壬癸，" * 60, reader))
    assert all(window.endswith("癸") for window in windows_of("甲乙丙丁戊己庚辛壬癸\n" * 60, reader))
    assert [len(window) for window in windows_of("字" * 600, reader)] == [MAX_TOKENS, MAX_TOKENS, 600 - 2 * MAX_TOKENS]


def test_a_sentence_that_ends_in_the_first_half_of_a_window_does_not_cut_it(reader: FeatureReader) -> None:
    assert len(windows_of("好。" + "字" * 300, reader)[0]) == MAX_TOKENS


def test_only_the_first_window_is_read_after_the_context(reader: FeatureReader) -> None:
    first, second = reader.read(ReadRequest(text="字" * 300, context=Context(turns=("之前說過",), names=("宏康",))))
    assert first.turn_numbers == (None, 0)
    assert second.turn_numbers == ()
    assert second.source.units == ()
    assert second.source.words == first.source.words
    assert second.message_start == 1
