"""Batches of features, and the network run over them.

This module imports torch: it is imported where a network is built, never with its package.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from memory.values.understanding.mentions import TaggedSpan

from ..batching.engine import padded_batches
from ..body.network_parts import evaluating
from ..body.token_rows import padded
from .decisions import ReaderSettings
from .edit_search import DecodingLimits, EditChain, decode_edits
from .fact_decoding import DecodedFact, decode_facts
from .features import Features
from .name_decoding import decode_names
from .network import NO_SOURCE, ReaderNetwork

_BATCH_TOKENS = 4096


@dataclass(frozen=True, slots=True)
class Found:
    """What the network finds in one window.

    Attributes:
        features: What it read.
        names: In text order, without overlaps.
        intents: Probability of each intent, in the order of `Intent`.
        ask: Uncalibrated probability that a reference is ambiguous.
        overview: Probability that it asks for all that is known of someone or something.
        forget: Probability that it asks to forget something.
        changes: Probability that something said before holds no longer after it.
        kinds: Probability of each `MessageKind`, in order; together 1.
        chain: The best edits.
        facts: In text order of their objects.
    """

    features: Features
    names: tuple[TaggedSpan, ...]
    intents: tuple[float, ...]
    ask: float
    overview: float
    forget: float
    changes: float
    kinds: tuple[float, ...]
    chain: EditChain
    facts: tuple[DecodedFact, ...]


_NO_EDITS = EditChain((), 0.0, (), 1.0)


def collate(features: Sequence[Features], sources: Sequence[int], *, pad_id: int, span: int) -> dict[str, Tensor]:
    """A batch for the network and its heads.

    Args:
        features: At least one.
        sources: Number of the data set of each; `NO_SOURCE` for none.
        pad_id: Token id of padding.
        span: Units of the longest span that can be copied.

    Returns:
        What `ReaderNetwork.states` and `EditsHead.encode` read; `unit_tokens` (batch, units, 2) and `unit_counts`
        (batch,) of the message; `all_tokens` (batch, all units, 2) and `all_spans` (batch, all units, span) of context
        and message together, and `context_counts` (batch,).
    """
    count = len(features)
    context_units = max(1, *(len(row.context_tokens) for row in features))
    units = max(1, *(len(row.unit_tokens) for row in features))
    all_units = max(1, *(len(row.context_tokens) + len(row.unit_tokens) for row in features))
    tokens = max(row.token_count for row in features)
    types = np.zeros((count, tokens), np.int64)
    context = np.zeros((count, context_units, 2), np.int64)
    of_message = np.zeros((count, units, 2), np.int64)
    together = np.zeros((count, all_units, 2), np.int64)
    gap_tokens = np.zeros((count, units + 1, 2), np.int64)
    spans = np.zeros((count, context_units, span), np.bool_)
    all_spans = np.zeros((count, all_units, span), np.bool_)
    for number, row in enumerate(features):
        types[number, row.message_start : row.token_count] = 1
        before, message = row.context_tokens, row.unit_tokens
        context[number, : len(before)] = before
        of_message[number, : len(message)] = message
        together[number, : len(before)], together[number, len(before) : len(before) + len(message)] = before, message
        text_of = [*row.source.turn_of, *[len(row.source.turns)] * len(message)]
        mask = span_mask(text_of, span)
        spans[number, : len(before)] = mask[: len(before)]
        all_spans[number, : len(mask)] = mask
        gap_tokens[number, : len(message) + 1, 0] = [row.message_start - 1, *message[:, 1]]
        gap_tokens[number, : len(message) + 1, 1] = [*message[:, 0], row.token_count - 1]
    arrays = {
        **padded(features, pad_id=pad_id),
        "token_type_ids": types,
        "sources": np.array(sources, np.int64),
        "context_tokens": context,
        "context_counts": np.array([len(row.context_tokens) for row in features], np.int64),
        "unit_tokens": of_message,
        "unit_counts": np.array([len(row.unit_tokens) for row in features], np.int64),
        "all_tokens": together,
        "all_spans": all_spans,
        "gap_tokens": gap_tokens,
        "gaps": np.array([len(row.unit_tokens) + 1 for row in features], np.int64),
        "spans": spans,
    }
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def span_mask(text_of: Sequence[int], span: int) -> npt.NDArray[np.bool_]:
    """Whether a span of that start and width lies inside one text; shape (units, span).

    Args:
        text_of: The number of the text of each unit, ascending.
        span: Units of the longest span.
    """
    texts = np.array(text_of, np.int64)
    units_left = np.searchsorted(texts, texts, side="right") - np.arange(len(texts))
    mask: npt.NDArray[np.bool_] = np.arange(span) < units_left[:, None]
    return mask


def rows_of(batch: dict[str, Tensor], numbers: Sequence[int]) -> dict[str, Tensor]:
    """Those rows of a batch, for a head that reads some rows only."""
    if len(numbers) == len(batch["sources"]):
        return batch
    index = torch.tensor(numbers, device=batch["sources"].device)
    return {name: tensor.index_select(0, index) for name, tensor in batch.items()}


def find_all(
    network: ReaderNetwork,
    features: Sequence[Features],
    settings: ReaderSettings,
    *,
    pad_id: int,
    source: int = NO_SOURCE,
) -> list[Found]:
    """Runs the network over windows in order, in batches of like length.

    Edits are looked for only in windows that have a context.

    Args:
        network: In any mode; it runs in evaluation mode.
        features: The windows.
        settings: Thresholds and calibration.
        pad_id: Token id of padding.
        source: Number of the data set whose annotation guidelines to follow.
    """
    found: dict[int, Found] = {}
    with evaluating(network) as device:
        numbered = list(enumerate(features))
        for batch in padded_batches(numbered, lambda item: item[1].token_count, max_tokens=_BATCH_TOKENS):
            rows = [row for _, row in batch]
            tensors = collate(rows, [source] * len(rows), pad_id=pad_id, span=network.shape.edits.span)
            tensors = {name: tensor.to(device) for name, tensor in tensors.items()}
            for (number, _), result in zip(batch, _find(network, rows, tensors, settings), strict=True):
                found[number] = result
    return [found[number] for number in range(len(features))]


def _find(
    network: ReaderNetwork, rows: Sequence[Features], batch: dict[str, Tensor], settings: ReaderSettings
) -> list[Found]:
    states = network.states(batch)
    scores = network.message_scores(states, batch)
    names = network.names(states, batch["unit_tokens"], batch["unit_counts"]).cpu()
    facts = decode_facts(network.facts, states, batch, rows, settings.thresholds)
    chains = [_NO_EDITS] * len(rows)
    if leaning := [number for number, row in enumerate(rows) if len(row.context_tokens) and row.units]:
        some = rows_of(batch, leaning)
        index = torch.tensor(leaning, device=states.device)
        encoded = network.edits.encode(states.index_select(0, index), some)
        limits = DecodingLimits(keep_from=settings.keep_from)
        for number, chain in zip(
            leaning, decode_edits(network.edits, encoded, [rows[number] for number in leaning], limits), strict=True
        ):
            chains[number] = chain
    intents, ask, overview, forget, changes = (of_kind.sigmoid().tolist() for of_kind in scores[:-1])
    kinds = scores.kinds.softmax(-1).tolist()
    return [
        Found(
            features=row,
            names=tuple(decode_names(names[number, : max(1, len(row.units))], row, settings.thresholds.names))
            if row.units
            else (),
            intents=tuple(intents[number]),
            ask=ask[number],
            overview=overview[number],
            forget=forget[number],
            changes=changes[number],
            kinds=tuple(kinds[number]),
            chain=chains[number],
            facts=tuple(facts[number]),
        )
        for number, row in enumerate(rows)
    ]
