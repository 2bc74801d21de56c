"""The head that tells for what a message is: what it learns from, and from which probability on it is believed."""

from pathlib import Path

import torch
from torch import nn

from memory.values.understanding.readings import MessageKind
from models.reader.reader import kind_of, reading_of
from tests.models.reader.test_reader import found
from tests.models.reader.toys import FOR_MEMORY, read, toy_settings
from training.reader.corpus import read_kinds
from training.reader.kinds import choose_bound, fold_scaling, read_for_memory
from training.shared.data_sets import Part

KINDS = tuple(MessageKind)


def probabilities(kind: MessageKind, share: float) -> tuple[float, ...]:
    """Those of a message that is for memory otherwise."""
    return tuple(share * (of is kind) + (1 - share) * sure for sure, of in zip(FOR_MEMORY, KINDS, strict=True))


def test_messages_are_read_with_their_kind_and_what_is_asked_of_memory_beside_them(tmp_path: Path) -> None:
    for name, text in {
        "kinds/en-k9.txt": "greeting: hey you\n\nmemory: hey, I moved: to Leeds\n",
        "kinds/zh-Hant-k1.txt": "opinion: 你會選哪個\n",
        "answers/en-a1.txt": "1 2026-03-01 I live in York\n? Where do I live? => 1 | York\n---\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    reported = [(row.language, row.text, row.kind) for row in read_kinds([tmp_path], Part.REPORT)]
    assert reported == [
        ("en", "hey you", MessageKind.GREETING),
        ("en", "hey, I moved: to Leeds", MessageKind.MEMORY),
    ]
    assert [(row.text, row.kind) for row in read_kinds([tmp_path], Part.TRAIN)] == [("你會選哪個", MessageKind.OPINION)]
    for_memory = read_for_memory([tmp_path], Part.TRAIN)
    assert [(row.text, row.kind) for row in for_memory] == [("Where do I live?", MessageKind.MEMORY)]


def test_kinds_that_lie_near_each_other_count_together_against_memory() -> None:
    shares = dict.fromkeys(KINDS, 0.0) | {MessageKind.FAREWELL: 0.41, MessageKind.STATE: 0.39, MessageKind.MEMORY: 0.2}
    assert kind_of(tuple(shares.values()), 0.8) is MessageKind.FAREWELL
    assert kind_of(tuple(shares.values()), 0.85) is MessageKind.MEMORY


def bound_of(*rows: tuple[MessageKind, float, MessageKind]) -> float:
    """The bound for messages that are taken for a kind with a probability, and are of another."""
    made = torch.tensor([probabilities(taken, share) for taken, share, _ in rows])
    return choose_bound(made, [right for *_, right in rows])


def test_the_bound_keeps_what_is_for_memory_above_what_is_not() -> None:
    rows = [
        (MessageKind.REQUEST, 0.9, MessageKind.REQUEST),
        (MessageKind.REQUEST, 0.72, MessageKind.MEMORY),
        (MessageKind.OPINION, 0.8, MessageKind.OPINION),
    ]
    assert bound_of(*rows) == 0.75


def test_what_is_for_memory_may_be_taken_for_a_question_about_the_world() -> None:
    rows = [(MessageKind.GENERAL, 0.72, MessageKind.MEMORY), (MessageKind.OPINION, 0.62, MessageKind.OPINION)]
    assert bound_of(*rows) == 0.3


def test_a_message_is_of_a_kind_from_the_bound_on_and_a_long_text_is_for_memory() -> None:
    surely = found(kinds=probabilities(MessageKind.THANKS, 0.6))
    assert reading_of([surely], toy_settings()).kind is MessageKind.THANKS
    unsure = found(kinds=probabilities(MessageKind.THANKS, 0.4))
    assert reading_of([unsure], toy_settings()).kind is MessageKind.MEMORY
    assert reading_of([surely, surely], toy_settings()).kind is MessageKind.MEMORY
    assert reading_of([found(read("  "), (), kinds=surely.kinds)], toy_settings()).kind is MessageKind.MEMORY


def test_a_layer_reads_its_inputs_as_they_are_once_their_scaling_is_folded_into_it() -> None:
    torch.manual_seed(0)
    inputs, layer = torch.randn(20, 6) * 3 + 2, nn.Linear(6, 4)
    mean, deviation = inputs.mean(0), inputs.std(0)
    expected = layer((inputs - mean) / deviation)
    fold_scaling(layer, mean, deviation)
    assert torch.allclose(layer(inputs), expected, atol=1e-5)
