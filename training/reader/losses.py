"""The loss of a batch: each head on the rows whose labels are known."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from memory.values.understanding.readings import Intent, MessageKind
from models.body.network_parts import MASKED
from models.reader.facts_head import FactsHead
from models.reader.inference import collate, rows_of
from models.reader.network import NO_SOURCE, ReaderNetwork, ReaderShape

from ..names.examples import collate_names, span_loss
from ..rewriting.examples import chain_loss, collate_edits
from .examples import FactLabel, ReaderExample

_INTENTS = tuple(Intent)
_KINDS = tuple(MessageKind)
_BODY = (
    "input_ids", "attention_mask", "token_type_ids", "covers", "sources", "context_tokens", "context_counts",
    "unit_tokens", "unit_counts", "all_tokens", "all_spans", "gap_tokens", "gaps", "spans",
)  # fmt: skip


def collate_examples(examples: Sequence[ReaderExample], *, pad_id: int, shape: ReaderShape) -> dict[str, Tensor]:
    """A batch with its labels; `*_rows` are the rows whose labels of a head are known."""
    features = [example.features for example in examples]
    sources = [example.names.source if example.names else NO_SOURCE for example in examples]
    batch = collate(features, sources, pad_id=pad_id, span=shape.edits.span)
    named = [(row, example.names) for row, example in enumerate(examples) if example.names is not None]
    edited = [(row, example.edits) for row, example in enumerate(examples) if example.edits is not None]
    asked = [(row, example.asks) for row, example in enumerate(examples) if example.asks is not None]
    meant = [(row, example.intents) for row, example in enumerate(examples) if example.intents is not None]
    stated = [(row, example.facts) for row, example in enumerate(examples) if example.facts is not None]
    of_kind = [(row, example.kind) for row, example in enumerate(examples) if example.kind is not None]
    forgetting = [(row, example.forgets) for row, example in enumerate(examples) if example.forgets is not None]
    rows: dict[str, list[tuple[int, Any]]] = {
        "names": named,
        "edits": edited,
        "asks": asked,
        "intents": meant,
        "facts": stated,
        "kind": of_kind,
        "forgets": forgetting,
    }
    labels: dict[str, Tensor] = {
        f"{name}_rows": torch.tensor([row for row, _ in known], dtype=torch.int64) for name, known in rows.items()
    }
    if named:
        labels |= collate_names([label for _, label in named], batch["unit_tokens"].shape[1], shape.names)
    if edited:
        inside = rows_of(batch, [row for row, _ in edited])
        labels |= collate_edits(
            [label for _, label in edited], [features[row] for row, _ in edited], inside, shape.edits
        )
    labels["asks"] = torch.tensor([float(label) for _, label in asked])
    labels["kind"] = torch.tensor([_KINDS.index(label) for _, label in of_kind], dtype=torch.int64)
    labels["forgets"] = torch.tensor([float(label) for _, label in forgetting])
    labels["intents"] = torch.tensor([[float(intent in label) for intent in _INTENTS] for _, label in meant])
    if stated:
        labels |= _collate_facts([label for _, label in stated], [features[row] for row, _ in stated], batch, shape)
    return batch | labels


def _collate_facts(
    labels: Sequence[tuple[FactLabel, ...]], features: Sequence[Any], batch: Mapping[str, Tensor], shape: ReaderShape
) -> dict[str, Tensor]:
    """The facts of a batch; rows are counted among those with facts known.

    Returns:
        `objects` (objects, 4): row, first unit, last unit over context and message, first unit in the message;
        `object_predicates` (objects, predicates); `facts` (facts, 2): object and predicate; `fact_qualifiers`
        (facts, qualifiers); `fact_subjects` and `fact_times` (places, 2): fact and flat index of every right place.
    """
    units, span = batch["all_spans"].shape[1:]
    objects: dict[tuple[int, int, int], int] = {}
    facts: dict[tuple[int, int], int] = {}
    predicates: list[list[float]] = []
    first_units: list[list[int]] = []
    qualifiers: list[list[float]] = []
    subjects: set[tuple[int, int]] = set()
    times: set[tuple[int, int]] = set()
    with_subject: set[int] = set()
    for row, of_row in enumerate(labels):
        shift = len(features[row].source.units)
        for label in of_row:
            at = objects.setdefault((row, *label.object), len(objects))
            if at == len(predicates):
                predicates.append([0.0] * shape.facts.predicates)
                first_units.append([row, *label.object, label.object[0] - shift])
            predicates[at][label.predicate] = 1.0
            fact = facts.setdefault((at, label.predicate), len(facts))
            if fact == len(qualifiers):
                qualifiers.append([0.0] * shape.facts.qualifiers)
            for number in label.qualifiers:
                qualifiers[fact][number] = 1.0
            if label.is_of_speaker:
                subjects.add((fact, units * span))
                with_subject.add(fact)
            for first, last in label.subjects:
                subjects.add((fact, first * span + last - first))
                with_subject.add(fact)
            for first, last in label.times:
                times.add((fact, first * span + last - first))
    for fact in set(facts.values()) - {fact for fact, _ in times}:
        times.add((fact, units * span))
    known = sorted(with_subject)
    return {
        "objects": torch.from_numpy(np.array(first_units, np.int64).reshape(-1, 4)),
        "object_predicates": torch.tensor(predicates),
        "facts": torch.from_numpy(np.array(list(facts), np.int64).reshape(-1, 2)),
        "fact_qualifiers": torch.tensor(qualifiers),
        "fact_subjects": torch.from_numpy(np.array(sorted(subjects), np.int64).reshape(-1, 2)),
        "fact_known": torch.from_numpy(np.array(known, np.int64)),
        "fact_times": torch.from_numpy(np.array(sorted(times), np.int64).reshape(-1, 2)),
    }


def reader_loss(network: ReaderNetwork, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The losses, summed over rows, of all heads but those trained by themselves (`message_heads`, `qualifiers`).

    Those for kinds and for requests to forget learn here too, so that the body does; they are trained again after it.
    """
    states = network.states(batch)
    body = {name: batch[name] for name in _BODY}
    scores_of = network.message_scores(states, batch)
    losses = {name: states.new_zeros(()) for name in ("unmarked", "marked", "place", "segment", "ask", "intent")}
    losses |= {name: states.new_zeros(()) for name in ("kind", "forget", "object", "predicate", "subject", "time")}
    if len(rows := batch["names_rows"]):
        scores = network.names(states[rows], batch["unit_tokens"][rows], batch["unit_counts"][rows])
        losses |= span_loss(scores, batch["names_right"], batch["names_silence"])
    if len(rows := batch["edits_rows"]):
        some = rows_of(body, rows.tolist())
        losses |= chain_loss(network.edits, network.edits.encode(states[rows], some), batch)
    if len(rows := batch["asks_rows"]):
        losses["ask"] = functional.binary_cross_entropy_with_logits(scores_of.ask[rows], batch["asks"], reduction="sum")
    if len(rows := batch["intents_rows"]):
        losses["intent"] = functional.binary_cross_entropy_with_logits(
            scores_of.intents[rows], batch["intents"], reduction="sum"
        )
    if len(rows := batch["kind_rows"]):
        losses["kind"] = functional.cross_entropy(scores_of.kinds[rows], batch["kind"], reduction="sum")
    if len(rows := batch["forgets_rows"]):
        losses["forget"] = functional.binary_cross_entropy_with_logits(
            scores_of.forget[rows], batch["forgets"], reduction="sum"
        )
    if len(rows := batch["facts_rows"]):
        losses |= _facts_loss(network.facts, states[rows], rows_of(body, rows.tolist()), batch)
    return losses


def _facts_loss(
    head: FactsHead, states: Tensor, body: Mapping[str, Tensor], batch: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    scores = head.object_score(states, body["unit_tokens"], body["unit_counts"])
    objects = batch["objects"]
    right = torch.stack(
        [objects[:, 0], objects[:, 3], objects[:, 2] - objects[:, 1], torch.zeros_like(objects[:, 0])], 1
    )
    silence = torch.zeros_like(scores)
    silence[right[:, 0], right[:, 1], right[:, 2], 0] = MASKED
    spans = span_loss(scores, right, silence)
    losses = {"object": spans["unmarked"] + spans["marked"]}
    if not len(objects):
        return losses
    facts = head.encode(states, body["all_tokens"], body["all_spans"])
    vectors = head.objects(facts, objects[:, 0], objects[:, 1], objects[:, 2])
    losses["predicate"] = multi_label_loss(head.predicate_score(vectors), batch["object_predicates"])
    at, predicates = batch["facts"].unbind(1)
    rows = objects[at, 0]
    vectors = head.with_predicates(vectors[at], predicates)
    known = batch["fact_known"]
    subjects = head.subject_scores(facts, rows, vectors)
    marked = torch.zeros_like(subjects)
    marked[batch["fact_subjects"][:, 0], batch["fact_subjects"][:, 1]] = 1.0
    losses["subject"] = multi_label_loss(subjects[known], marked[known])
    times = head.time_scores(facts, rows, vectors).log_softmax(1)
    answers = torch.full_like(times, -torch.inf)
    answers[batch["fact_times"][:, 0], batch["fact_times"][:, 1]] = times[
        batch["fact_times"][:, 0], batch["fact_times"][:, 1]
    ]
    losses["time"] = -answers.logsumexp(1).sum()
    return losses


def multi_label_loss(scores: Tensor, marked: Tensor) -> Tensor:
    """For each row: how far marked scores are below 0 and others above it (Su 2021, as `names.examples.span_loss`).

    Args:
        scores: Shape (rows, labels); masked labels are far below 0.
        marked: Shape (rows, labels), 1 for those that hold.
    """
    others = (scores + marked * MASKED).logsumexp(1)
    missing = (-scores + (1 - marked) * 3 * MASKED).logsumexp(1)
    return (functional.softplus(others) + functional.softplus(missing)).sum()
