import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.body.edit_units import split_edit_units
from models.reader.edits import Edit, Segment, Source, apply_edits
from training.rewriting.labels import Limits, derive
from training.rewriting.metrics import units_of

WORDS = ("的", "of")


def derive_edits(query: str, target: str, *turns: str) -> list[tuple[int, int, list[str]]]:
    source = Source.of(turns, WORDS)
    derivation = derive(query, target, source)
    return [
        (
            edit.start,
            edit.stop,
            [source.text(segment.places[-1]) if segment.places else "?" for segment in edit.segments],
        )
        for edit in derivation.edits
    ]


def test_what_is_complete_needs_no_edit() -> None:
    derivation = derive("西安明天有雨吗", "西安明天有雨吗", Source.of(["你好"]))
    assert derivation.edits == ()
    assert derivation.exact


def test_an_omitted_span_is_inserted_and_a_pronoun_replaced() -> None:
    assert derive_edits("明天有雨吗", "西安明天有雨吗", "西安天气") == [(0, 0, ["西安"])]
    assert derive_edits("它好吗", "西安好吗", "我在西安") == [(0, 1, ["西安"])]


def test_a_gap_may_take_several_spans_and_function_words() -> None:
    assert derive_edits("为什么", "为什么确定秦始皇活了50岁", "秦始皇活了多久", "50岁我确定") == [
        (3, 3, ["确定", "秦始皇活了", "50岁"])
    ]
    assert derive_edits("眼睛红了", "小明的眼睛红了", "小明哭了") == [(0, 0, ["小明", "的"])]


def test_several_gaps_are_several_edits() -> None:
    assert derive_edits("What is their address?", "What is the address of Bedouin?", "the Bedouin is nice") == [
        (2, 3, ["the"]),
        (4, 4, ["of", "Bedouin"]),
    ]


def test_all_places_of_a_span_are_right() -> None:
    derivation = derive("好看吗", "tfboys好看吗", Source.of(["TFboys来了", "我爱tfboys"]))
    assert derivation.edits[0].segments[0].places == (Segment(0, 1), Segment(5, 6))


def test_a_span_does_not_cross_turns() -> None:
    assert derive_edits("好吗", "西安好吗", "西", "安") == [(0, 0, ["西", "安"])]


def test_a_unit_that_nothing_holds_is_lost_and_said_to_be() -> None:
    derivation = derive("好吗", "北京好吗", Source.of(["你好"]))
    assert not derivation.exact
    assert [segment.places for segment in derivation.edits[0].segments] == [(), ()]


@pytest.mark.parametrize(
    "limits", [Limits(span=1, segments=1), Limits(deleted=0), Limits(edits=0), Limits(span=2, segments=1)]
)
def test_what_is_beyond_the_limits_is_not_exact(limits: Limits) -> None:
    assert not derive("它好吗", "秦始皇好吗", Source.of(["秦始皇"]), limits).exact


@given(
    st.lists(st.text(alphabet="甲乙丙ab ", min_size=1, max_size=8), max_size=3),
    st.text(alphabet="甲乙丙ab ", max_size=8),
    st.text(alphabet="甲乙丙丁ab的 ", max_size=10),
)
def test_an_exact_derivation_gives_the_target(turns: list[str], query: str, target: str) -> None:
    source = Source.of(turns, WORDS)
    derivation = derive(query, target, source, Limits(span=9, deleted=9, segments=99, edits=99))
    edits = [
        Edit(edit.start, edit.stop, tuple(segment.places[-1] for segment in edit.segments if segment.places))
        for edit in derivation.edits
    ]
    rewritten = apply_edits(query, split_edit_units(query), source, edits)
    # Latin words can only be told apart in what is written by the space between them
    if derivation.exact and not any(letter in target for letter in "ab"):
        assert units_of(rewritten) == units_of(target)
    reachable = {unit.key for text in [*turns, query, *WORDS] for unit in split_edit_units(text)}
    if units_of(target) and not derivation.exact:
        assert not set(units_of(target)) <= reachable - set(units_of(query))
