"""The heads that say what a message does to earlier lines: what they learn from, and what they make of it."""

from pathlib import Path

import torch

from models.body.network_parts import ScoreHead
from training.answers.line_heads import Kind, among_others, read_marked
from training.shared.data_sets import Part
from training.shared.heads import softmax_loss, train_head

FORGETS = """
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
CHANGES = """
@ 2026-03-02
1 the locker opens with 4471
2 the bike shed opens with 6618
@ 2026-03-09
3 Priya brings samosas
4 shed's on 9902 from today => 2
---
"""
SCENARIO = """
@ moved en
## 2026-03-02 09:10
U: I live in Leeds.
U: My sister lives in York.
## 2026-03-20 21:30
U: We got the keys to the flat in Hull!
U: Hull has good chips.
## 2026-03-21 09:00
? Where do I live? => Hull | not: Leeds | ev: 3 | type: update
? Where does my sister live? => York | ev: 2 | type: single
"""


def write(folder: Path, name: str, text: str) -> None:
    folder.mkdir()
    (folder / name).write_text(text, encoding="utf-8")


def test_requests_are_read_with_the_lines_before_them_and_what_is_meant(tmp_path: Path) -> None:
    write(tmp_path / "forgets", "en-g1.txt", FORGETS)
    either, last, nothing = read_marked([tmp_path], Kind.MEANT, Part.TRAIN)
    assert [row.marks for row in (either, last, nothing)] == [(0.5, 0.5), (0.0, 1.0), (0.0, 0.0, 0.0)]
    assert last.request.question == "hm, don't keep the last one"
    assert [line.text.split()[0] for line in nothing.request.lines] == ["the", "the", "Priya"]
    times = [line.said_at for line in nothing.request.lines]
    assert times == sorted(set(times))
    assert nothing.request.now > times[-1]


def test_requests_are_read_among_lines_of_others_that_they_cannot_mean(tmp_path: Path) -> None:
    write(tmp_path / "forgets", "en-g1.txt", FORGETS)
    others = [f"{number} 2026-01-01 the {word} tastes of lime" for number, word in enumerate("abcdefgh", 1)]
    answers = "\n".join([*others, "9 2026-01-02 my locker opens with 1", "? Is there cake? => NONE", "---", ""])
    write(tmp_path / "answers", "en-v1.txt", answers)
    marked = read_marked([tmp_path], Kind.MEANT, Part.TRAIN)
    *_, last, nothing = among_others(marked, [tmp_path], seed=1)
    assert [line.text for line, mark in zip(last.request.lines, last.marks, strict=True) if mark] == [
        "the bike shed opens with 6618"
    ]
    assert last.request.lines[-1].text == "the bike shed opens with 6618"
    assert len(nothing.request.lines) > len(marked[-1].request.lines)
    assert not any("my locker" in line.text for line in last.request.lines)


def test_each_line_is_read_with_those_before_it_and_what_it_replaces(tmp_path: Path) -> None:
    write(tmp_path / "changes", "en-g1.txt", CHANGES)
    *others, change = read_marked([tmp_path], Kind.REPLACED, Part.TRAIN)
    assert [row.marks for row in others] == [(0.0,), (0.0, 0.0)]
    assert (change.request.question, change.marks) == ("shed's on 9902 from today", (0.0, 1.0, 0.0))


def test_what_a_scenario_asks_for_says_what_its_lines_replace(tmp_path: Path) -> None:
    write(tmp_path / "scenarios", "en-x1.txt", SCENARIO)
    single, update = read_marked([tmp_path], Kind.REPLACED, Part.TRAIN)
    assert (single.request.question, single.marks) == ("My sister lives in York.", (0.0,))
    assert (update.request.question, update.marks) == ("We got the keys to the flat in Hull!", (1.0, 0.0))


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
