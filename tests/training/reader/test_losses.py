"""Each head learns from the rows whose labels are known, and from no others."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from memory.values.predicates import PREDICATES
from memory.values.understanding.mentions import EntitySubtype
from memory.values.understanding.readings import Intent, MessageKind, Qualifier
from models.body.network_parts import MASKED
from models.reader.network import NO_SOURCE, ReaderNetwork
from tests.models.reader.toys import PAD, SHAPE, read
from training.names.examples import Evidence, label_names
from training.names.ner_files import MarkedText, NamedSpan
from training.reader.corpus import MarkedFact
from training.reader.examples import ReaderExample, label_facts
from training.reader.losses import collate_examples, multi_label_loss, reader_loss
from training.rewriting.data import RewritingRow
from training.rewriting.examples import label_edits
from training.rewriting.labels import Limits

PARTS = {
    "names": {"unmarked", "marked"},
    "edits": {"place", "segment"},
    "asks": {"ask"},
    "intents": {"intent"},
    "facts": {"object", "predicate", "subject", "time"},
    "kind": {"kind"},
    "forgets": {"forget"},
}
"""The losses of each kind of labels."""
LOSSES = set.union(*PARTS.values())

ROW = RewritingRow(("小美在北京",), "它好吗", "北京好吗", "toy")
NAMED = MarkedText(ROW.query, (NamedSpan(0, 1, "product"),))
FACTS = (
    MarkedFact("小美", "lives_in", "好", (Qualifier.PAST,), "北京"),
    MarkedFact("", "likes", "好吗"),
    MarkedFact("", "lives_in", "好"),
    MarkedFact("nobody", "owns", "吗"),
)


def known(*kinds: str) -> ReaderExample:
    """One row with the labels of some kinds."""
    features = read(ROW.query, *ROW.turns)
    evidence = Evidence.of(1, dict.fromkeys(EntitySubtype, 1.0), ())
    full = {
        "names": label_names(NAMED, features, evidence, SHAPE.names, is_told=False),
        "edits": label_edits(ROW, features, Limits(span=SHAPE.edits.span, deleted=SHAPE.edits.deleted)),
        "asks": True,
        "intents": (Intent.QUESTION,),
        "facts": label_facts(FACTS, features, SHAPE.facts.span),
        "kind": MessageKind.STATE,
        "forgets": True,
    }
    return replace(ReaderExample(features), **{kind: full[kind] for kind in kinds})  # type: ignore[arg-type]


def losses(network: ReaderNetwork, *examples: ReaderExample) -> dict[str, Tensor]:
    return reader_loss(network.eval(), collate_examples(examples, pad_id=PAD, shape=SHAPE))


@pytest.mark.parametrize("kind", PARTS)
def test_a_head_learns_only_where_its_labels_are_known(kind: str, network: ReaderNetwork) -> None:
    values = losses(network, known(kind), known())
    assert set(values) == LOSSES
    assert {name for name, value in values.items() if value.item() > 0} == PARTS[kind]


def test_without_any_labels_there_is_nothing_to_learn(network: ReaderNetwork) -> None:
    assert {value.item() for value in losses(network, known(), known()).values()} == {0.0}


def test_losses_are_sums_over_rows_and_padding_changes_nothing(network: ReaderNetwork) -> None:
    longer = ReaderExample(read("好" * 20, "嗯" * 9), asks=False, intents=(Intent.THANKS,), facts=())
    examples = [known(*PARTS), longer, known("names", "facts"), known("edits"), known("asks", "intents")]
    together, alone = losses(network, *examples), [losses(network, example) for example in examples]
    for name, value in together.items():
        torch.testing.assert_close(value, torch.stack([values[name] for values in alone]).sum())


def test_labels_of_a_batch_name_their_rows() -> None:
    examples = [known("asks"), known("names", "intents"), known("asks", "facts"), known("kind", "forgets")]
    batch = collate_examples(examples, pad_id=PAD, shape=SHAPE)
    rows = {kind: batch[f"{kind}_rows"].tolist() for kind in PARTS}
    assert rows == {
        "names": [1], "edits": [], "asks": [0, 2], "intents": [1], "facts": [2], "kind": [3], "forgets": [3],
    }  # fmt: skip
    assert batch["asks"].tolist() == [1.0, 1.0]
    assert batch["intents"].sum() == batch["intents"][0, list(Intent).index(Intent.QUESTION)] == 1.0


def test_the_facts_of_a_batch_are_by_object_and_predicate() -> None:
    batch = collate_examples([known(), known("facts")], pad_id=PAD, shape=SHAPE)
    # context units 小 美 在 北 京, then 它 好 吗
    assert batch["objects"].tolist() == [[0, 6, 6, 1], [0, 6, 7, 1], [0, 7, 7, 2]]
    lives_in, likes, owns = (PREDICATES.index(name) for name in ("lives_in", "likes", "owns"))
    assert batch["facts"].tolist() == [[0, lives_in], [1, likes], [2, owns]]
    assert [row.nonzero().flatten().tolist() for row in batch["object_predicates"]] == [[lives_in], [likes], [owns]]
    assert batch["fact_qualifiers"].sum(1).tolist() == [1.0, 0.0, 0.0]
    span = SHAPE.facts.span
    none = batch["all_spans"].shape[1] * span
    assert batch["fact_subjects"].tolist() == [[0, 1], [0, none], [1, none]]  # 小美 and the speaker; the speaker
    assert batch["fact_known"].tolist() == [0, 1]  # where no place holds the subject, it is not known
    assert batch["fact_times"].tolist() == [[0, 3 * span + 1], [1, none], [2, none]]


def test_told_sources_reach_the_network() -> None:
    told = known("names")
    assert told.names is not None
    told = replace(told, names=replace(told.names, is_told=True))
    batch = collate_examples([told, known("names"), known()], pad_id=PAD, shape=SHAPE)
    assert batch["sources"].tolist() == [1, NO_SOURCE, NO_SOURCE]


def test_every_part_of_the_network_but_the_heads_trained_alone_gets_a_gradient(network: ReaderNetwork) -> None:
    named = replace(known(*PARTS), features=read(ROW.query, *ROW.turns))
    sum(losses(network, named).values(), torch.zeros(())).backward()
    silent = {name for name, parameter in network.named_parameters() if parameter.grad is None}
    heads = ("overview.", "forget.", "changes.", "kinds.", "facts.qualifiers.")
    alone = {name for name, _ in network.named_parameters() if name.startswith(heads)}
    assert silent <= {"body.embeddings.word_embeddings.weight", "edits.word_states"} | alone


def rows_of(values: Sequence[Sequence[float]]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_marked_scores_are_pushed_above_the_others() -> None:
    marked = rows_of([[1, 0, 0], [0, 0, 0]])
    right = multi_label_loss(rows_of([[9, -9, -9], [-9, -9, -9]]), marked)
    wrong = multi_label_loss(rows_of([[-9, 9, -9], [9, -9, -9]]), marked)
    assert right.item() < 0.01
    assert wrong.item() == pytest.approx(9 + 9 + 9, abs=0.01)


def test_a_row_without_marks_only_pushes_down() -> None:
    scores = rows_of([[1.0, 2.0]])
    expected = torch.log(1 + scores.exp().sum())
    torch.testing.assert_close(multi_label_loss(scores, torch.zeros_like(scores)), expected)


@given(st.lists(st.floats(-9, 9), min_size=2, max_size=6), st.data())
def test_masked_labels_cost_nothing(values: list[float], data: st.DataObject) -> None:
    marks = data.draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=len(values), max_size=len(values)))
    alone = multi_label_loss(rows_of([values]), rows_of([marks]))
    masked = multi_label_loss(rows_of([[*values, MASKED, MASKED]]), rows_of([[*marks, 0.0, 0.0]]))
    torch.testing.assert_close(alone, masked)
    expected = torch.log1p(sum_exp(values, marks, 0.0)) + torch.log1p(sum_exp([-value for value in values], marks, 1.0))
    torch.testing.assert_close(alone, expected)


def sum_exp(values: Sequence[float], marks: Sequence[float], mark: float) -> Tensor:
    chosen = [value for value, marked in zip(values, marks, strict=True) if marked == mark]
    return torch.tensor(chosen, dtype=torch.float64).exp().sum()
