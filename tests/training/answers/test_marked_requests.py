"""What messages do to earlier lines: how it is read, and that a network learns it beside its questions."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import torch

from memory.ports.models.answer_reading import AnswerReadRequest, DatedLine
from models.answers.inference import find_answers
from models.answers.network import AnswerNetwork
from tests.models.answers.toys import SHAPE, toy_feature_reader
from tests.models.reader.toys import PAD, toy_body
from training.answers.losses import answer_loss, collate_examples
from training.answers.marked_requests import Kind, MarkedRequest, among_others, read_marked, read_requests
from training.answers.mix import AnswerMix, AnswerOptions, MessageDraw
from training.shared.data_sets import Part
from training.shared.run import RunOptions, Task, TrainingRun

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
    other, change = read_marked([tmp_path], Kind.REPLACED, Part.TRAIN)
    assert other.marks == (0.0,)
    assert (change.request.question, change.marks) == ("shed's on 9902 from today", (0.0, 1.0, 0.0))


def test_what_a_scenario_asks_for_says_what_its_lines_replace(tmp_path: Path) -> None:
    write(tmp_path / "scenarios", "en-x1.txt", SCENARIO)
    single, update = read_marked([tmp_path], Kind.REPLACED, Part.TRAIN)
    assert (single.request.question, single.marks) == ("My sister lives in York.", (0.0,))
    assert (update.request.question, update.marks) == ("We got the keys to the flat in Hull!", (1.0, 0.0))


def test_one_in_three_of_the_messages_that_replace_nothing_are_learned_from(tmp_path: Path) -> None:
    lines = "\n".join(f"{number} {word} has been seen" for number, word in enumerate("abcdefghij", 1))
    write(tmp_path / "changes", "en-g1.txt", f"@ 2026-03-02\n{lines}\n11 a it was not => 1\n---\n")
    marked = read_marked([tmp_path], Kind.REPLACED, Part.TRAIN)
    assert [sum(row.marks) for row in marked] == [0.0, 0.0, 0.0, 1.0]


def test_a_request_is_read_with_the_messages_that_it_means_and_the_clauses_of_each(tmp_path: Path) -> None:
    parts = (
        "@ 2026-03-02\n1 shed is 4417 | and the bike 2086, | always mix them up\n2 had a scan\n"
        "3 rent is due, | bins go out\n"
        "@ 2026-03-09\nR: lose the shed one => 1.1\nR: both, and the bins => 1.1 1.2 1.3 3.2\nR: the scan => 2.1\n"
        "R: the dog => 0\n---\n"
    )
    write(tmp_path / "forget_parts", "en-a1.txt", parts)
    shed, both, bins = read_marked([tmp_path], Kind.CLAUSE, Part.TRAIN)
    assert [line.text for line in shed.request.lines] == ["shed is 4417", "and the bike 2086,", "always mix them up"]
    assert [row.marks for row in (shed, both, bins)] == [(1.0, 0.0, 0.0), (1.0, 1.0, 1.0), (0.0, 1.0)]
    assert (bins.request.question, bins.request.now.day) == ("both, and the bins", 9)
    assert {line.said_at.day for line in bins.request.lines} == {2}
    meant = read_marked([tmp_path], Kind.MEANT, Part.TRAIN)
    assert [row.marks for row in meant] == [(1.0, 0.0, 0.0), (1.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, 0.0, 0.0)]
    assert meant[0].request.lines[0].text == "shed is 4417 and the bike 2086, always mix them up"
    assert read_marked([tmp_path], Kind.MEANT, Part.TRAIN) == read_requests([tmp_path], Part.TRAIN, "forget_parts")


def _message(kind: Kind, text: str, *marks: float) -> MarkedRequest:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    texts = ("我住板桥", "密码是九", "姐姐爱茶")
    lines = tuple(DatedLine(text=line, said_at=at + timedelta(days=day)) for day, line in enumerate(texts))
    request = AnswerReadRequest(question=text, lines=lines, now=at + timedelta(days=9))
    return MarkedRequest(kind, "zh-Hans", request, marks)


MESSAGES = [
    _message(Kind.MEANT, "忘了密码", 0.0, 1.0, 0.0),
    _message(Kind.MEANT, "忘了爱茶", 0.0, 0.0, 1.0),
    _message(Kind.MEANT, "忘了红车", 0.0, 0.0, 0.0),
    _message(Kind.REPLACED, "我搬到三峡了", 1.0, 0.0, 0.0),
    _message(Kind.CLAUSE, "删掉住址和密码", 1.0, 1.0, 0.0),
]


def test_a_network_learns_what_messages_do_while_its_first_layer_stays(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    shape = SHAPE.model_copy(update={"meant": True, "replaced": True, "clause": True})
    network, reader = AnswerNetwork(toy_body(512), shape), toy_feature_reader()
    often = dict.fromkeys(("meant", "replaced", "clause"), 30.0)
    mix = AnswerMix([], reader, AnswerOptions(**often, batch_tokens=600), seed=1, messages=MESSAGES)  # type: ignore[arg-type]
    task = Task(mix=mix, collate=lambda rows: collate_examples(rows, pad_id=PAD), loss=answer_loss, shape={})
    options = RunOptions(epochs=20, body_rate=3e-3, head_rate=3e-3, warmup=5, decay=0.9, workers=1, frozen_layers=1)
    first, second = (network.body.get_submodule(f"encoder.layer.{layer}") for layer in range(2))
    before = [[value.clone() for value in layer.state_dict().values()] for layer in (first, second)]
    run = TrainingRun(network, task, options=options, folder=tmp_path, seed=1)
    while run.progress < 1:
        for _ in run.train_epoch():
            pass
    after = [[*layer.state_dict().values()] for layer in (first, second)]
    assert all(torch.allclose(old, new, rtol=0.01) for old, new in zip(before[0], after[0], strict=True))
    assert not all(torch.allclose(old, new, rtol=0.01) for old, new in zip(before[1], after[1], strict=True))
    with run.averaged():
        found = find_answers(network, [reader.read(row.request) for row in MESSAGES], pad_id=PAD)
    for row, answer in zip(MESSAGES, found, strict=True):
        shares = [getattr(line, row.kind) for line in answer.lines]
        assert shares == pytest.approx(row.marks, abs=0.2)


def test_a_request_is_drawn_among_lines_of_others_and_a_change_is_not() -> None:
    mix = AnswerMix([], toy_feature_reader(), AnswerOptions(meant=1.0), seed=1, messages=MESSAGES)
    drawn = mix.drawn(0)
    assert {draw.message.kind for draw in drawn if isinstance(draw, MessageDraw)} == {Kind.MEANT}
    [example] = mix.examples(drawn[0])
    assert (example.kind, example.gold, len(example.marks)) == (Kind.MEANT, (), 3)
