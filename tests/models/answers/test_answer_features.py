from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.ports.models.answer_reading import MAX_ANSWER_LINES, AnswerReadRequest, DatedLine
from memory.values.understanding.dialogue import Role
from models.answers.features import AGES, MAX_TOKENS, age_class, even_length
from tests.models.answers.toys import NOW, request, toy_feature_reader

LINES = st.lists(
    st.tuples(st.integers(0, 3000), st.text(st.sampled_from("住板橋三峽 ab12。\ud800"), max_size=900)),
    min_size=1,
    max_size=MAX_ANSWER_LINES,
)


@given(st.text(max_size=400), LINES)
def test_every_line_is_read_in_its_turn_and_all_fit(question: str, lines: list[tuple[int, str]]) -> None:
    asked = request(question, *lines)
    row = toy_feature_reader().read(asked)
    assert row.token_count <= MAX_TOKENS
    assert sorted(row.order) == list(range(len(lines)))
    times = [asked.lines[number].said_at for number in row.order]
    assert times == sorted(times)
    assert list(row.ranks) == list(range(len(lines)))[::-1]
    for number, units, places, (first, last) in zip(
        row.order, row.units, row.unit_tokens, row.line_tokens, strict=True
    ):
        text = asked.lines[number].text
        assert all(0 <= unit.start < unit.end <= len(text) for unit in units)
        assert len(units) == len(places)
        assert all(first <= start <= end < last for start, end in places)
    assert (row.line_tokens[1:, 0] == row.line_tokens[:-1, 1] + 1).all()
    assert row.question_start == row.line_tokens[-1, 1] + 1


def test_only_the_longest_lines_are_cut() -> None:
    row = toy_feature_reader(120).read(request("住哪", (3, "板橋"), (2, "三" * 500), (1, "峽" * 500)))
    short, *long = [len(units) for units in row.units]
    assert short == 2
    assert long[0] == long[1] < 500
    assert 118 <= row.token_count <= 120


@given(st.lists(st.integers(0, 600), min_size=1, max_size=24), st.integers(24, 512))
def test_cut_texts_fit_and_nothing_is_cut_without_need(lengths: list[int], free: int) -> None:
    most = even_length(lengths, free)
    kept = [min(length, most) for length in lengths]
    assert sum(kept) <= free
    if sum(lengths) > free:
        assert sum(min(length, most + 1) for length in lengths) > free
    else:
        assert kept == lengths


@pytest.mark.parametrize(("days", "expected"), [(-3, 0), (0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (99_999, AGES - 1)])
def test_ages_are_told_apart_by_doublings(days: int, expected: int) -> None:
    assert age_class(DatedLine(text="", said_at=NOW - timedelta(days=days)), NOW) == expected


def test_who_said_a_line_is_read() -> None:
    of_user = toy_feature_reader().read(request("住哪", (1, "板橋")))
    of_assistant = toy_feature_reader().read(request("住哪", (1, "板橋"), role=Role.ASSISTANT))
    assert list(of_user.roles) != list(of_assistant.roles)


def test_the_date_of_a_line_is_read() -> None:
    lines = (DatedLine(text="板橋", said_at=NOW - timedelta(days=40)),)
    row, later = (
        toy_feature_reader().read(AnswerReadRequest(question="何時", lines=lines, now=now))
        for now in (NOW, NOW + timedelta(days=3))
    )
    assert row.unit_tokens[0][0, 0] - row.line_tokens[0, 0] == 3  # day, month, year
    assert list(row.input_ids) != list(later.input_ids)
