"""Labels of edits: the choices that lead to the target, and the loss of a batch."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from models.body.edit_units import split_edit_units
from models.reader.edit_search import last_segment
from models.reader.edits import Segment
from models.reader.edits_head import NOWHERE, EditsHead, EditsShape, Encoded
from models.reader.features import Features

from .data import RewritingRow
from .labels import LabelledEdit, Limits, derive

STOP = (-1, -1)


@dataclass(frozen=True, slots=True)
class PlaceChoice:
    """Where the next edit is: its gap and how much it deletes, or `STOP`."""

    step: int
    before: tuple[int, int] | None
    before_segment: tuple[Segment, ...]
    answer: tuple[int, int]


@dataclass(frozen=True, slots=True)
class SegmentChoice:
    """The next segment of an edit: any of `answers`; without answers the edit ends."""

    place: tuple[int, int]
    step: int
    before: tuple[Segment, ...]
    answers: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class EditLabels:
    """The choices that turn a query into its target.

    Attributes:
        places: Choices of places, the last one being to stop.
        segments: Choices of segments.
        is_exact: Whether the choices give the target.
    """

    places: tuple[PlaceChoice, ...]
    segments: tuple[SegmentChoice, ...]
    is_exact: bool


def frequent_words(rows: Iterable[RewritingRow], *, least: int, most: int) -> list[str]:
    """Words that targets need and their contexts lack, most frequent first.

    A word counts once a conversation, so that a name that one conversation repeats is no function word.

    Args:
        rows: Training rows.
        least: Conversations that need a word.
        most: Words in all.
    """
    needed: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        context_keys = {unit.key for turn in row.turns for unit in split_edit_units(turn)}
        in_query = Counter(unit.key for unit in split_edit_units(row.query))
        target_counts = Counter(unit.key for unit in split_edit_units(row.target))
        for word in target_counts - in_query:
            if word not in context_keys:
                needed[word].add(row.turns[0] if row.turns else row.query)
    counts = sorted(needed, key=lambda word: (-len(needed[word]), word))
    return [word for word in counts if len(needed[word]) >= least][:most]


def label_edits(row: RewritingRow, features: Features, limits: Limits) -> EditLabels:
    """Derives the choices of a row.

    A segment that nothing holds ends the labels of its edit; the edits behind it keep theirs.
    """
    derivation = derive(row.query, row.target, features.source, limits)
    places: list[PlaceChoice] = []
    segments: list[SegmentChoice] = []
    before: LabelledEdit | None = None
    is_whole = True
    for edit in derivation.edits[: limits.edits]:
        if edit.stop - edit.start > limits.deleted or edit.stop >= len(features.units) + 1:
            is_whole = False
            break
        places.append(_place(before, len(places), (edit.start, edit.stop - edit.start)))
        segments += _segments(edit, limits)
        before = edit
    if is_whole and len(derivation.edits) <= limits.edits:
        places.append(_place(before, len(places), STOP))
    return EditLabels(tuple(places), tuple(segments), derivation.exact)


def _place(before: LabelledEdit | None, step: int, answer: tuple[int, int]) -> PlaceChoice:
    if before is None:
        return PlaceChoice(step, None, (), answer)
    first = tuple(segment.places[-1] for segment in before.segments[:1] if segment.places)
    return PlaceChoice(step, (before.start, before.stop), first, answer)


def _segments(edit: LabelledEdit, limits: Limits) -> list[SegmentChoice]:
    choices: list[SegmentChoice] = []
    before: tuple[Segment, ...] = ()
    for segment in edit.segments[: limits.segments]:
        if not segment.places:
            return choices
        choices.append(SegmentChoice((edit.start, edit.stop), len(choices), before, segment.places))
        before = segment.places[-1:]
    if len(edit.segments) < limits.segments:
        choices.append(SegmentChoice((edit.start, edit.stop), len(choices), before, ()))
    return choices


def collate_edits(
    labels: Sequence[EditLabels], features: Sequence[Features], batch: Mapping[str, Tensor], shape: EditsShape
) -> dict[str, Tensor]:
    """The choices of a batch.

    Args:
        labels: Of each row.
        features: Likewise.
        batch: See `inference.collate`.
        shape: Of the head.

    Returns:
        `places` and `segments` list the choices, `segments_right` lists (segment choice, flat index) of every right
        answer.
    """
    units = batch["spans"].shape[1]
    widths = shape.deleted + 1
    stop = batch["gap_tokens"].shape[1] * widths
    places: list[list[int]] = []
    segments: list[list[int]] = []
    right: list[tuple[int, int]] = []
    for row, (chain, read) in enumerate(zip(labels, features, strict=True)):
        context_units = len(read.source.units)
        for choice in chain.places:
            answer = stop if choice.answer == STOP else choice.answer[0] * widths + choice.answer[1]
            gaps = choice.before or (NOWHERE, NOWHERE)
            places.append([row, choice.step, *gaps, *last_segment(choice.before_segment, context_units, units), answer])
        for segment in chain.segments:
            number = len(segments)
            segments.append([row, *segment.place, segment.step, *last_segment(segment.before, context_units, units)])
            right += [(number, _flat(answer, context_units, units, shape)) for answer in segment.answers]
            if not segment.answers:
                right.append((number, units * shape.span + shape.words))
    return {
        "places": torch.from_numpy(np.array(places, np.int64).reshape(-1, 7)),
        "segments": torch.from_numpy(np.array(segments, np.int64).reshape(-1, 6)),
        "segments_right": torch.from_numpy(np.array(right, np.int64).reshape(-1, 2)),
    }


def chain_loss(head: EditsHead, encoded: Encoded, labels: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Negative log-probabilities of the right choices.

    Where a segment can be copied from several places, the probability of all of them counts.

    Returns:
        Sums over the batch: `place` and `segment`.
    """
    places, segments, right = labels["places"], labels["segments"], labels["segments_right"]
    scores = head.place_scores(encoded, places[:, 0], places[:, 1], places[:, 2:6])
    place_loss = -scores.gather(1, places[:, 6:]).sum()
    if not len(segments):
        return {"place": place_loss, "segment": place_loss.new_zeros(())}
    scores = head.segment_scores(encoded, segments[:, 0], segments[:, 1:3], segments[:, 3], segments[:, 4:6])
    answers = torch.full_like(scores, -torch.inf)
    answers[right[:, 0], right[:, 1]] = scores[right[:, 0], right[:, 1]]
    return {"place": place_loss, "segment": -answers.logsumexp(dim=1).sum()}


def _flat(segment: Segment, context_units: int, units: int, shape: EditsShape) -> int:
    if segment.start >= context_units:
        return units * shape.span + segment.start - context_units
    return segment.start * shape.span + segment.stop - segment.start - 1
