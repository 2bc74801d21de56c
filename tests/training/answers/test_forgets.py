"""The head that says which lines a request to forget means: what it learns from, and what it makes of them."""

from pathlib import Path

import torch

from models.body.network_parts import ScoreHead
from training.answers.forgets import read_forgets
from training.shared.data_sets import Part
from training.shared.heads import softmax_loss, train_head

BLOCK = """
@ 2026-03-02
1 the locker opens with 4471
2 the bike shed opens with 6618
R: delete that code => 1 / 2
R: hm, don't keep the last one => 2
@ 2026-03-09
3 Priya brings samosas
R: forget the piano => 0
---
"""


def test_requests_are_read_with_the_lines_before_them_and_what_is_meant(tmp_path: Path) -> None:
    folder = tmp_path / "forgets"
    folder.mkdir()
    (folder / "en-g1.txt").write_text(BLOCK, encoding="utf-8")
    either, last, nothing = read_forgets([tmp_path], Part.TRAIN)
    assert [row.meant for row in (either, last, nothing)] == [(0.5, 0.5), (0.0, 1.0), (0.0, 0.0, 0.0)]
    assert last.request.question == "hm, don't keep the last one"
    assert [line.text.split()[0] for line in nothing.request.lines] == ["the", "the", "Priya"]
    times = [line.said_at for line in nothing.request.lines]
    assert times == sorted(set(times))
    assert nothing.request.now > times[-1]


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
