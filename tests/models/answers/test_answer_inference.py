import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from memory.ports.models.answer_reading import MAX_ANSWER_LINES
from models.answers.inference import MAX_SPAN, FoundAnswer, best_spans, collate, find_answers
from tests.models.answers.toys import request, toy_feature_reader, toy_network
from tests.models.reader.toys import PAD

REQUESTS = [
    request("我住哪", (9, "我住板橋"), (2, "搬到三峽了"), (5, "")),
    request("where", (1, "the key is in the drawer")),
    request("", *[(number, "茶" * number) for number in range(MAX_ANSWER_LINES)]),
]


def find(*numbers: int) -> list[FoundAnswer]:
    reader = toy_feature_reader()
    return find_answers(toy_network(), [reader.read(REQUESTS[number]) for number in numbers], pad_id=PAD)


def values(answer: FoundAnswer) -> list[float]:
    return [value for line in answer.lines for value in (line.answers, line.outdated)] + [answer.unanswered]


def test_every_line_gets_probabilities_and_words_of_its_own() -> None:
    for asked, answer in zip(REQUESTS, find(0, 1, 2), strict=True):
        assert len(answer.lines) == len(asked.lines)
        assert all(0 <= value <= 1 for value in values(answer))
        for line, found in zip(asked.lines, answer.lines, strict=True):
            assert 0 <= found.start <= found.end <= len(line.text)


def test_an_answer_does_not_depend_on_what_it_is_computed_with() -> None:
    together, alone = find(0, 1, 2), [find(number)[0] for number in (0, 1, 2)]
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(values(one), values(other), atol=1e-5)


def test_the_order_of_the_lines_of_a_request_does_not_matter() -> None:
    asked = REQUESTS[0]
    turned = asked.model_copy(update={"lines": asked.lines[::-1]})
    reader = toy_feature_reader()
    one, other = find_answers(toy_network(), [reader.read(asked), reader.read(turned)], pad_id=PAD)
    np.testing.assert_allclose(
        [line.answers for line in one.lines], [line.answers for line in other.lines[::-1]], atol=1e-5
    )
    assert one.unanswered == pytest.approx(other.unanswered, abs=1e-5)


def test_what_a_line_answers_and_that_none_does_are_shares_of_one_score() -> None:
    for answer in find(0, 1, 2):
        odds = [line.answers / (1 - line.answers) for line in answer.lines]
        assert answer.unanswered == pytest.approx(1 / (1 + sum(odds)), abs=1e-4)


def test_padding_is_no_part_of_a_row() -> None:
    reader = toy_feature_reader()
    rows = [reader.read(asked) for asked in REQUESTS]
    batch = collate(rows, pad_id=PAD)
    assert batch["attention_mask"].sum(1).tolist() == [row.token_count for row in rows]
    outside = batch["attention_mask"] == 0
    assert not batch["line_of"][outside].any()
    assert not batch["token_type_ids"][outside].any()


@given(st.integers(0, 2**31), st.integers(1, 60))
def test_words_run_forwards_and_are_the_best_of_all_allowed(seed: int, units: int) -> None:
    scores = torch.randn(1, 2, 1 + units, 2, generator=torch.Generator().manual_seed(seed))
    spans, sure = best_spans(scores)
    for line, (first, last) in enumerate(spans[0].tolist()):
        starts, ends = scores[0, line].unbind(-1)
        allowed = [(0, 0)] + [
            (start, end) for start in range(1, units + 1) for end in range(start, min(units, start + MAX_SPAN - 1) + 1)
        ]
        weights = {span: math.exp(float(starts[span[0]] + ends[span[1]])) for span in allowed}
        assert (first, last) == max(allowed, key=weights.__getitem__)
        assert float(sure[0, line]) == pytest.approx(weights[first, last] / sum(weights.values()), rel=1e-4)
