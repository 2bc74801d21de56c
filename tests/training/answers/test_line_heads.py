"""A head that says what a message does to earlier lines, trained on the states of a finished network."""

import torch

from memory.ports.models.answer_reading import AnswerReading, LineReading
from models.body.network_parts import ScoreHead
from tests.training.answers.test_marked_requests import MESSAGES
from training.answers.line_heads import count_parts
from training.shared.heads import softmax_loss, train_head


def test_a_head_shares_out_what_is_meant_between_lines_and_none() -> None:
    torch.manual_seed(0)
    groups = [torch.randn(4, 240) for _ in range(200)]
    labels = [(group[:, 0] > 1.0).float() for group in groups]
    head = ScoreHead(48, states=5)
    train_head(head, groups, labels, loss=softmax_loss, epochs=20, batch=16, decay=0.02)
    with torch.no_grad():
        best = [torch.cat([torch.zeros(1), head(group)]).argmax() for group in groups]
    right = [bool(marked[place - 1]) if place else not marked.any() for place, marked in zip(best, labels, strict=True)]
    assert sum(right) > 180


def test_of_messages_that_are_meant_in_part_it_is_counted_what_would_go_and_what_would_stay() -> None:
    marked = MESSAGES[-1]  # two of its three clauses are meant
    shares = [(0.9, 0.9, 0.0), (0.9, 0.9, 0.9), (0.9, 0.0, 0.0)]
    readings = [
        AnswerReading(
            lines=tuple(LineReading(answers=0, outdated=0, start=0, end=0, clause=share) for share in row), unanswered=1
        )
        for row in shares
    ]
    assert count_parts([(marked, reading) for reading in readings]) == {
        "meant in part": 3,
        "right": 33.3,
        "more goes": 33.3,
        "all goes": 33.3,
        "something stays": 33.3,
        "meant whole": 0,
        "of these something stays": 0.0,
    }
