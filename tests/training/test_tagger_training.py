import random
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from models.tagger.decoding import decode_names
from models.tagger.features import WindowReader
from models.tagger.inference import collate
from models.tagger.labels import LABELS, SUBTYPES
from models.tagger.network import TaggerNetwork, TaggerShape
from training.tagger.examples import Evidence, TaggerExample, collate_tagging, make_examples, span_loss
from training.tagger.mix import TaggingMix, TaggingOptions, TaggingShare
from training.tagger.ner_chat import ChatWriter
from training.tagger.ner_files import MarkedText, NamedSpan
from training.tagger.ner_sets import RARE
from training.tagger.networks import HALVES, decode_labels, tag_all
from training.tagger.train import tagging_task

from memory.values.mentions import EntitySubtype
from models.body.edit_units import EditUnitTokenizer
from training.shared.run import RunOptions, TrainingRun

ROWS = [
    MarkedText("小明在北京", (NamedSpan(0, 2, "person"), NamedSpan(3, 5, "scene"))),
    MarkedText("今天很好", ()),
    MarkedText("Ann 用 Zune 吗", (NamedSpan(0, 3, "person"), NamedSpan(6, 10, "product"))),
    MarkedText("老王去上海了", (NamedSpan(0, 2, "person"), NamedSpan(3, 5, "scene"))),
]
NAMES = [
    *ROWS,
    MarkedText("A1 Acme Expo Dune 宏康 甲乙", (
        NamedSpan(0, 2, "model"), NamedSpan(3, 7, "company"), NamedSpan(8, 12, "event"), NamedSpan(13, 17, "movie"),
        NamedSpan(18, 20, "brand"),
    )),
]  # fmt: skip
COVERAGE = {EntitySubtype.PERSON: 1.0, EntitySubtype.PLACE: 1.0, EntitySubtype.WORK: 0.0}
EVIDENCE = Evidence.of(1, COVERAGE, ["person", "scene", "product"])


@pytest.fixture
def windows(tokenizer: EditUnitTokenizer) -> WindowReader:
    return WindowReader(tokenizer)


@pytest.fixture
def network(toy_network: Any) -> TaggerNetwork:
    torch.manual_seed(0)
    shape = TaggerShape(labels=len(LABELS), sources=3, hidden=32, span=6, products=2, width=16)
    return TaggerNetwork(toy_network.body, shape)


def mix_of(windows: WindowReader, shape: TaggerShape, copies: int = 1, **options: float) -> TaggingMix:
    share = TaggingShare(ROWS * copies, 1.0, True, False, EVIDENCE)
    return TaggingMix([share], ChatWriter(NAMES, []), windows, shape, TaggingOptions(**options), seed=1)  # type: ignore[arg-type]


def example(row: MarkedText, windows: WindowReader, shape: TaggerShape, *, is_told: bool = True) -> TaggerExample:
    (made,) = make_examples(row, windows, EVIDENCE, shape, is_told=is_told)
    return made


def test_a_finer_label_implies_its_subtype(windows: WindowReader, network: TaggerNetwork) -> None:
    tagger_example = example(ROWS[0], windows, network.shape)
    expected = {(0, 1, LABELS.index("person")), (3, 1, LABELS.index("scene")), (3, 1, LABELS.index("place"))}
    assert set(tagger_example.right) == expected
    assert tagger_example.named.tolist() == [True, True, False, True, True]


def test_silence_weighs_what_the_source_covers(windows: WindowReader, network: TaggerNetwork) -> None:
    row = MarkedText("小明在北京吗", (NamedSpan(0, 2, "person"), NamedSpan(3, 5, "")))
    batch = collate_tagging([example(row, windows, network.shape)], pad_id=1, shape=network.shape)
    weight = batch["silence"].exp()[0]
    person, place, work, event, company = (
        LABELS.index(label) for label in ("person", "place", "work", "event", "company")
    )
    assert weight[2, 0, place] == pytest.approx(1.0)  # all places are marked
    assert weight[2, 0, event] == pytest.approx(RARE)  # events are not, but are rare
    assert weight[2, 0, work] == pytest.approx(0.0)  # works are not
    assert weight[0, 1, work] == pytest.approx(1.0)  # but a person is no work
    assert weight[1, 1, work] == pytest.approx(1.0)  # nor is what crosses one
    assert weight[0, 1, person] == pytest.approx(0.0)  # marked
    assert weight[3, 1, event] == pytest.approx(0.0)  # marked with a type that is not mapped: it may be anything
    assert weight[2, 0, company] == pytest.approx(0.0)  # a finer label that this source does not tell apart


def test_a_name_that_does_not_fit_units_is_neither_right_nor_wrong(
    windows: WindowReader, network: TaggerNetwork
) -> None:
    row = MarkedText("abc很长很长很长很长", (NamedSpan(1, 3, "person"), NamedSpan(3, 11, "person")))
    tagger_example = example(row, windows, network.shape)
    assert tagger_example.right == ()
    assert tagger_example.unclear.all()


def test_padding_changes_nothing(windows: WindowReader, network: TaggerNetwork) -> None:
    network.eval()
    examples = [example(row, windows, network.shape) for row in ROWS]
    together = span_loss(network, collate_tagging(examples, pad_id=1, shape=network.shape))
    alone = [span_loss(network, collate_tagging([example], pad_id=1, shape=network.shape)) for example in examples]
    for name, value in together.items():
        torch.testing.assert_close(value, torch.stack([losses[name] for losses in alone]).sum())


def test_being_told_the_source_changes_the_scores(windows: WindowReader, network: TaggerNetwork) -> None:
    network.eval()
    (window,) = windows.read("小明在北京")
    with_source, without_source, with_other_source = network(collate([window] * 3, [1, 0, 2], pad_id=1))
    assert not torch.allclose(with_source, without_source)
    assert not torch.allclose(with_source, with_other_source)
    assert without_source.shape == (5, 6, len(LABELS))


def test_a_network_learns_a_few_rows_and_tags_them(
    network: TaggerNetwork, windows: WindowReader, tmp_path: Path
) -> None:
    options = RunOptions(epochs=4, body_rate=3e-3, head_rate=3e-3, warmup=5, cooldown=0.2, decay=0.9, workers=2)
    mix = mix_of(windows, network.shape, 48, told=0.5, traditional=0.0, wide=0.0, chat=0.0, batch_rows=4)
    run = TrainingRun(
        network, tagging_task(mix, network.shape, 1), options=options, folder=tmp_path, seed=1
    )  # fmt: skip
    losses = []
    while run.progress < 1:
        losses += [step["marked"] + step["unmarked"] for step in run.train_epoch()]
    assert losses[-1] < losses[0] / 10
    texts = [row.text for row in ROWS]
    with run.averaged():
        names = tag_all(network, windows, texts, partial(decode_names, thresholds=HALVES), pad_id=1)
        numbers = [LABELS.index("person"), LABELS.index("scene")]
        spans = tag_all(network, windows, texts, partial(decode_labels, labels=numbers), pad_id=1, source=1)
    assert [(name.start, name.end, name.subtype, name.label) for name in names[0]] == [
        (0, 2, EntitySubtype.PERSON, "person"),
        (3, 5, EntitySubtype.PLACE, "scene"),
    ]
    assert names[1] == []
    assert [(span.start, span.end, span.label) for span in spans[3]] == [(0, 2, "person"), (3, 5, "scene")]


def test_an_epoch_is_drawn_alike_each_time_and_differs_from_the_next(
    windows: WindowReader, network: TaggerNetwork
) -> None:
    mix = mix_of(windows, network.shape, 20, chat=0.5)
    assert mix.drawn(0) == mix_of(windows, network.shape, 20, chat=0.5).drawn(0)
    assert mix.drawn(0) != mix.drawn(1)
    assert len(mix.drawn(0)) == 120
    assert sum(map(len, mix.batches(0))) == 120
    assert len(list(mix.batches(0, skip=2))) == len(list(mix.batches(0))) - 2


def test_names_that_overlap_leave_the_more_probable_one(windows: WindowReader) -> None:
    (window,) = windows.read("北京大学图书馆")
    scores = torch.full((7, 6, len(LABELS)), -9.0)
    place, organisation, government = (LABELS.index(label) for label in ("place", "organisation", "government"))
    scores[0, 1, place] = 2.0
    scores[0, 3, organisation] = 3.0
    scores[0, 3, place] = 1.0
    scores[0, 3, government] = 0.5
    scores[4, 2, place] = 0.4
    names = decode_names(scores, window, HALVES)
    assert [(span.start, span.end, span.subtype, span.label) for span in names] == [
        (0, 4, EntitySubtype.ORGANISATION, "government"),
        (4, 7, EntitySubtype.PLACE, "place"),
    ]
    assert names[0].score == pytest.approx(1 / (1 + np.exp(-3.0)))
    strict = {**HALVES, EntitySubtype.PLACE: 0.7}
    assert len(decode_names(scores, window, strict)) == 1


def test_long_texts_are_cut_behind_sentences_and_keep_their_offsets(windows: WindowReader) -> None:
    text = "甲乙丙丁戊己庚辛壬癸。" * 60
    cut = windows.read(text)
    assert len(cut) > 1
    assert [unit for window in cut for unit in window.units] == windows_units(text)
    assert all(text[window.units[-1].start] == "。" for window in cut)
    assert all(window.token_count <= 256 for window in cut)
    assert windows.read(" \n ") == []
    assert len(windows.read("字" * 600)) == 3


def windows_units(text: str) -> list[Any]:
    from models.body.edit_units import split_edit_units

    return split_edit_units(text)


def test_subtypes_are_the_first_labels() -> None:
    assert LABELS[: len(SUBTYPES)] == tuple(subtype.value for subtype in EntitySubtype)
    assert random.Random(0).choice(SUBTYPES) in EntitySubtype
