"""Beam search for the most probable chain of edits and their segments."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import torch

from .edits import Edit, Segment
from .edits_head import NOWHERE, EditsHead, Encoded
from .features import Features

_CANDIDATES = 12
"""Most probable choices of a step; those with the same text count as one."""

_ALTERNATIVES = 3


@dataclass(frozen=True, slots=True)
class DecodingLimits:
    """Bounds of the search.

    Attributes:
        beam: Chains kept for each query.
        edits: Edits of a rewrite, at most.
        segments: Segments of an edit, at most.
        keep_from: The search ends without an edit from this probability on that the query needs none.
    """

    beam: int = 4
    edits: int = 4
    segments: int = 6
    keep_from: float = math.inf


@dataclass(frozen=True, slots=True)
class Filling:
    """Probabilities of the segments of an edit.

    Attributes:
        probabilities: Of each segment among all candidates.
        alternatives: Other spans for the first segment, with their probabilities, best first.
    """

    probabilities: tuple[float, ...] = ()
    alternatives: tuple[tuple[Segment, float], ...] = ()


@dataclass(frozen=True, slots=True)
class EditChain:
    """The best edits of a query, and the probability that it needs none.

    Attributes:
        edits: In order; empty where no edit is possible or the search ended without one.
        log_probability: Of all edits together, given that the query needs one.
        edit_log_probabilities: Of each edit, its place and its segments together.
        keep_probability: Of the network, uncalibrated: that the query needs no edit.
        fillings: Of each edit.
    """

    edits: tuple[Edit, ...]
    log_probability: float
    edit_log_probabilities: tuple[float, ...]
    keep_probability: float
    fillings: tuple[Filling, ...] = ()


@dataclass(frozen=True, slots=True)
class _Chain:
    row: int
    score: float = 0.0
    edits: tuple[Edit, ...] = ()
    scores: tuple[float, ...] = ()  # of the edits
    fillings: tuple[Filling, ...] = ()  # likewise
    is_open: bool = False  # the last edit may get another segment
    is_done: bool = False


def decode_edits(
    head: EditsHead, encoded: Encoded, features: Sequence[Features], limits: DecodingLimits
) -> list[EditChain]:
    """The best chain of each row.

    Args:
        head: Without dropout (`eval`).
        encoded: What `head.encode` gave for `features`.
        features: Of the rows.
        limits: Of the search.
    """
    chains = [[_Chain(row)] for row in range(len(features))]
    keep = [0.0] * len(features)
    for _ in range(limits.edits * (limits.segments + 2) + 1):
        waiting = [chain for row in chains for chain in row if not chain.is_done]
        if not waiting:
            break
        grown: list[_Chain] = []
        grown += _place(head, encoded, features, [chain for chain in waiting if not chain.is_open], limits, keep)
        grown += _fill(head, encoded, features, [chain for chain in waiting if chain.is_open], limits)
        by_row: list[list[_Chain]] = [[chain for chain in row if chain.is_done] for row in chains]
        for chain in grown:
            by_row[chain.row].append(chain)
        for number, row in enumerate(by_row):
            if not row:  # no edit is possible
                row = [_Chain(number, is_done=True)]
            best = sorted(row, key=lambda chain: -chain.score)[: limits.beam]
            # scores only fall, so no other chain can overtake a finished one that leads
            chains[number] = best[:1] if best[0].is_done else best
    return [
        EditChain(row[0].edits, row[0].score, row[0].scores, keep[number], row[0].fillings)
        for number, row in enumerate(chains)
    ]


def _place(
    head: EditsHead,
    encoded: Encoded,
    features: Sequence[Features],
    chains: list[_Chain],
    limits: DecodingLimits,
    keep: list[float],
) -> list[_Chain]:
    if not chains:
        return []
    device = encoded.starts.device
    rows = torch.tensor([chain.row for chain in chains], device=device)
    steps = torch.tensor([len(chain.edits) for chain in chains], device=device)
    units = encoded.starts.shape[1]
    previous = torch.tensor(
        [_before(chain.edits, len(features[chain.row].source.units), units) for chain in chains], device=device
    )
    scores = head.place_scores(encoded, rows, steps, previous)
    widths = head.shape.deleted + 1
    stop = scores.shape[1] - 1
    top = scores.topk(min(limits.beam + 1, scores.shape[1]), dim=1)
    grown = []
    for chain, stop_score, values, indices in zip(
        chains, scores[:, stop].tolist(), top.values.tolist(), top.indices.tolist(), strict=True
    ):
        given_edit = 0.0
        if chain.edits:
            grown.append(replace(chain, score=chain.score + stop_score, is_done=True))
        else:  # whether to edit at all is a decision of its own
            keep[chain.row] = math.exp(stop_score)
            if keep[chain.row] >= limits.keep_from:
                grown.append(replace(chain, is_done=True))
                continue
            given_edit = -_log(-math.expm1(stop_score))
        if len(chain.edits) == limits.edits:
            continue
        for value, index in zip(values, indices, strict=True):
            if index == stop or value < -1e8:
                continue
            edit = Edit(index // widths, index // widths + index % widths, ())
            grown.append(
                replace(
                    chain,
                    score=chain.score + value + given_edit,
                    edits=(*chain.edits, edit),
                    scores=(*chain.scores, value + given_edit),
                    fillings=(*chain.fillings, Filling()),
                    is_open=True,
                )
            )
    return grown


def _fill(
    head: EditsHead,
    encoded: Encoded,
    features: Sequence[Features],
    chains: list[_Chain],
    limits: DecodingLimits,
) -> list[_Chain]:
    if not chains:
        return []
    units, span = encoded.spans.shape[1:]
    device = encoded.starts.device
    rows = torch.tensor([chain.row for chain in chains], device=device)
    places = torch.tensor([(chain.edits[-1].start, chain.edits[-1].stop) for chain in chains], device=device)
    steps = torch.tensor([len(chain.edits[-1].segments) for chain in chains], device=device)
    previous = torch.tensor(
        [last_segment(chain.edits[-1].segments, len(features[chain.row].source.units), units) for chain in chains],
        device=device,
    )
    scores = head.segment_scores(encoded, rows, places, steps, previous)
    end = scores.shape[1] - 1
    top = scores.topk(min(_CANDIDATES, scores.shape[1]), dim=1)
    grown = []
    for chain, values, indices in zip(chains, top.values.tolist(), top.indices.tolist(), strict=True):
        edit = chain.edits[-1]
        source = features[chain.row].source
        merged: dict[tuple[str, ...] | None, tuple[Segment | None, float]] = {}
        for value, index in zip(values, indices, strict=True):
            if value < -1e8 or (index == end and not edit.segments and edit.start == edit.stop):
                continue
            segment = None
            if index < units * span:
                segment = Segment(index // span, index // span + index % span + 1)
            elif index != end:
                word = len(source.units) + index - units * span
                segment = Segment(word, word + 1)
            key = None if segment is None else source.key(segment)
            known, before = merged.get(key, (segment, -math.inf))
            merged[key] = known, _log(math.exp(before) + math.exp(value))
        for segment, value in merged.values():
            if segment is not None and len(edit.segments) == limits.segments:
                continue
            filled, filling = edit, chain.fillings[-1]
            if segment is not None:
                filled = replace(edit, segments=(*edit.segments, segment))
                alternatives = (
                    filling.alternatives
                    if edit.segments
                    else _alternatives(merged.values(), segment, len(source.units))
                )
                filling = Filling((*filling.probabilities, math.exp(value)), alternatives)
            grown.append(
                replace(
                    chain,
                    score=chain.score + value,
                    edits=(*chain.edits[:-1], filled),
                    scores=(*chain.scores[:-1], chain.scores[-1] + value),
                    fillings=(*chain.fillings[:-1], filling),
                    is_open=segment is not None,
                )
            )
    return grown


def _alternatives(
    choices: Iterable[tuple[Segment | None, float]], chosen: Segment, units: int
) -> tuple[tuple[Segment, float], ...]:
    spans = [(span, math.exp(value)) for span, value in choices if span and span != chosen and span.start < units]
    return tuple(sorted(spans, key=lambda item: -item[1])[:_ALTERNATIVES])


def _before(edits: Sequence[Edit], units: int, padded: int) -> tuple[int, int, int, int]:
    if not edits:
        return (NOWHERE,) * 4
    return (edits[-1].start, edits[-1].stop, *last_segment(edits[-1].segments[:1], units, padded))


def last_segment(segments: Sequence[Segment], units: int, padded: int) -> tuple[int, int]:
    """First and last unit of the last segment, as the network reads them; words are counted after the padded units.

    Args:
        segments: Of an edit.
        units: Context units of the row.
        padded: Context units of the batch.
    """
    if not segments:
        return NOWHERE, NOWHERE
    segment = segments[-1]
    if segment.start >= units:
        return (segment.start - units + padded,) * 2
    return segment.start, segment.stop - 1


def _log(probability: float) -> float:
    return math.log(max(probability, 1e-12))
