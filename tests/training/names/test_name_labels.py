import pytest
import torch

from memory.values.understanding.mentions import EntitySubtype
from memory.values.understanding.readings import ReadRequest
from models.reader.features import FeatureReader
from models.reader.labels import LABELS
from models.reader.network import NO_SOURCE
from tests.models.reader.toys import SHAPE, toy_reader
from training.names.examples import Evidence, NameLabels, collate_names, label_names, span_loss
from training.names.ner_files import MarkedText, NamedSpan
from training.names.ner_sets import RARE
from training.reader.examples import name_examples

ROW = MarkedText("小明在北京", (NamedSpan(0, 2, "person"), NamedSpan(3, 5, "scene")))
COVERAGE = {EntitySubtype.PERSON: 1.0, EntitySubtype.PLACE: 1.0, EntitySubtype.WORK: 0.0}
EVIDENCE = Evidence.of(1, COVERAGE, ["person", "scene", "product"])


def number(label: str) -> int:
    return LABELS.index(label)


def labelled(row: MarkedText, *, is_told: bool = True) -> NameLabels:
    (window,) = toy_reader().read(ReadRequest(text=row.text))
    return label_names(row, window, EVIDENCE, SHAPE.names, is_told=is_told)


def test_a_finer_label_implies_its_subtype() -> None:
    labels = labelled(ROW)
    assert set(labels.right) == {(0, 1, number("person")), (3, 1, number("scene")), (3, 1, number("place"))}
    assert labels.named.tolist() == [True, True, False, True, True]
    assert not labels.unclear.any()


def test_a_label_without_a_subtype_is_a_label_and_no_name() -> None:
    labels = labelled(MarkedText("他妈好", (NamedSpan(0, 2, "person_nominal"),)))
    assert labels.right == ((0, 1, number("person_nominal")),)
    assert labels.unclear.tolist() == [True, True, False]
    assert not labels.named.any()


def test_a_name_that_does_not_fit_units_is_neither_right_nor_wrong() -> None:
    row = MarkedText("abc很长很长很长很长", (NamedSpan(1, 3, "person"), NamedSpan(3, 11, "person")))
    labels = labelled(row)
    assert labels.right == ()
    assert labels.unclear.all()


def test_the_network_is_told_the_source_or_not() -> None:
    assert labelled(ROW).source == 1
    assert labelled(ROW, is_told=False).source == NO_SOURCE


def test_a_name_belongs_to_the_window_that_has_it(reader: FeatureReader) -> None:
    text = "字" * 260 + "北京"
    row = MarkedText(text, (NamedSpan(260, 262, "scene"), NamedSpan(253, 255, "scene")))
    first, second = name_examples(row, reader, EVIDENCE, SHAPE, is_told=False)
    assert first.names is not None
    assert second.names is not None
    assert (first.names.right, first.names.unclear.sum()) == ((), 1)  # cut: half a name is no name
    assert {(at, width) for at, width, _ in second.names.right} == {(6, 1)}
    assert (first.asks, first.intents, first.facts, first.edits) == (None, None, None, None)


def test_silence_weighs_what_the_source_covers() -> None:
    row = MarkedText("小明在北京吗", (NamedSpan(0, 2, "person"), NamedSpan(3, 5, "")))
    batch = collate_names([labelled(row)], 6, SHAPE.names)
    weight = batch["names_silence"].exp()[0]
    person, place, work, event, company = map(number, ("person", "place", "work", "event", "company"))
    assert weight[2, 0, place] == pytest.approx(1.0)  # all places are marked
    assert weight[2, 0, event] == pytest.approx(RARE)  # events are not, but are rare
    assert weight[2, 0, work] == pytest.approx(0.0)  # works are not
    assert weight[0, 1, work] == pytest.approx(1.0)  # but a person is no work
    assert weight[1, 1, work] == pytest.approx(1.0)  # nor is what crosses one
    assert weight[0, 1, person] == pytest.approx(0.0)  # marked
    assert weight[3, 1, event] == pytest.approx(0.0)  # marked with a type that is not mapped: it may be anything
    assert weight[2, 0, company] == pytest.approx(0.0)  # a finer label that this source does not tell apart


def test_the_loss_falls_with_scores_that_are_right() -> None:
    batch = collate_names([labelled(ROW), labelled(MarkedText("今天", ()))], 5, SHAPE.names)
    right, silence = batch["names_right"], batch["names_silence"]
    assert right.tolist() == [[0, *span] for span in labelled(ROW).right]

    def loss(scores: torch.Tensor) -> float:
        return sum(value.item() for value in span_loss(scores, right, silence).values())

    none = torch.full((2, 5, SHAPE.names.span, len(LABELS)), -9.0)
    best, wrong = none.clone(), none.clone()
    best[right[:, 0], right[:, 1], right[:, 2], right[:, 3]] = 9.0
    wrong[1, 0, 1, number("place")] = 9.0
    assert loss(best) < 0.2 < 20 < loss(none) < loss(wrong)


def test_what_silence_does_not_weigh_costs_nothing() -> None:
    batch = collate_names([labelled(ROW)], 5, SHAPE.names)
    scores = torch.full((1, 5, SHAPE.names.span, len(LABELS)), -9.0)
    before = span_loss(scores, batch["names_right"], batch["names_silence"])["unmarked"]
    scores[0, 2, 0, number("work")] = 9.0  # this source marks no works
    after = span_loss(scores, batch["names_right"], batch["names_silence"])["unmarked"]
    torch.testing.assert_close(before, after)


def test_without_names_nothing_is_missing() -> None:
    batch = collate_names([labelled(MarkedText("今天", ()))], 2, SHAPE.names)
    scores = torch.randn(1, 2, SHAPE.names.span, len(LABELS))
    assert span_loss(scores, batch["names_right"], batch["names_silence"])["marked"].item() == 0.0
