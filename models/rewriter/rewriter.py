"""Rewrites queries with the shipped weights: what a deployment holds."""

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory.errors import ModelUnavailable

from ..prepare import prepare_model

if TYPE_CHECKING:
    from .inference import Rewritten

_NAMES_APART = "、"


@dataclass(frozen=True, slots=True)
class RewriteRequest:
    """A query in its conversation.

    Attributes:
        query: What was said.
        turns: The conversation before it, oldest first.
        names: What long-term memory offers, most likely first.
    """

    query: str
    turns: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Antecedent:
    """Where a copied span comes from.

    Attributes:
        text: As it was written there.
        turn: Index into `RewriteRequest.turns`; None where it is from `names`.
        start: Code-point offset in that turn, or in the names joined.
        end: Behind its last character.
    """

    text: str
    turn: int | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Replacement:
    """One edit of the query.

    Attributes:
        start: Code-point offset in the query; equal to `end` where something left out was put in.
        end: Behind the last character that gives way.
        text: What is written there.
        antecedents: What of it was copied, and from where.
        confidence: Probability of this edit, given that the query is edited, 0 to 1.
    """

    start: int
    end: int
    text: str
    antecedents: tuple[Antecedent, ...]
    confidence: float


@dataclass(frozen=True, slots=True)
class RewriteResult:
    """A query that stands alone.

    Attributes:
        text: The rewritten query; the query itself where it is left alone.
        replacements: What was changed, in order; empty where it is left alone.
        keep_probability: That the query stands alone already.
        confidence: Of the decision that was taken, 0 to 1.
        best_edit: How it would read edited; for showing what was not done.
    """

    text: str
    replacements: tuple[Replacement, ...]
    keep_probability: float
    confidence: float
    best_edit: str


class Rewriter:
    """Rewrites batches of queries; safe to call from several threads, which take turns.

    The weights are read at the first call.

    Args:
        weights: The weight file (`weights.save_weights`).
        cache: Where prepared models are kept.
        device: `cpu` or `cuda`.
        threads: CPU threads in the whole process; None leaves torch as it is.
    """

    def __init__(self, weights: Path, cache: Path, *, device: str = "cpu", threads: int | None = None) -> None:
        self._weights = weights
        self._cache = cache
        self._device = device
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: Any = None

    def load(self) -> None:
        """Reads the weights, where that was not done yet.

        Raises:
            ModelUnavailable: The weight file or the body is missing or broken.
        """
        with self._lock:
            self._load()

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[RewriteResult]:
        """Rewrites queries in order.

        Raises:
            ModelUnavailable: See `load`.
        """
        with self._lock:
            network, reader, pad_id, rule = self._load()
            from .inference import rewrite_all

            features = [reader.read(_turns(request), request.query) for request in requests]
            found = rewrite_all(network, features, pad_id=pad_id)
        return [_result(request, one, rule) for request, one in zip(requests, found, strict=True)]

    def _load(self) -> Any:
        if self._loaded is None:
            import torch
            from tokenizers import Tokenizer

            from .features import FeatureReader
            from .network import RewriterNetwork, load_body
            from .units import UnitTokenizer
            from .weights import load_weights, read_settings

            if self._threads is not None:
                torch.set_num_threads(self._threads)
            settings = read_settings(self._weights)
            folder = prepare_model(settings.body, self._cache)
            try:
                tokenizer = UnitTokenizer(Tokenizer.from_file(str(folder / "tokenizer.json")))
                network = RewriterNetwork(load_body(str(folder)), settings.shape)
            except (OSError, ValueError, RuntimeError) as error:
                raise ModelUnavailable(f"The rewriter cannot be loaded: {error}.", component="rewriter") from error
            load_weights(self._weights, network)
            network.to(self._device).eval()
            self._loaded = network, FeatureReader(tokenizer, settings.words), tokenizer.pad_id, settings.rule
        return self._loaded


def joined_names(names: Sequence[str]) -> str:
    """What long-term memory offers, as the turn that the network reads first."""
    return _NAMES_APART.join(names)


def _turns(request: RewriteRequest) -> list[str]:
    return [joined_names(request.names), *request.turns] if request.names else list(request.turns)


def _result(request: RewriteRequest, found: "Rewritten", rule: Any) -> RewriteResult:
    rewrite = found.rewrite
    kept = rule.keeps(rewrite)
    score = rule.score(rewrite)
    return RewriteResult(
        text=found.text(rule),
        replacements=() if kept else tuple(replacements_of(request, found)),
        keep_probability=rewrite.keep_probability,
        confidence=score if kept else (1.0 - rewrite.keep_probability) * math.exp(rewrite.log_probability),
        best_edit=found.edited(),
    )


def replacements_of(request: RewriteRequest, found: "Rewritten") -> list[Replacement]:
    """The edits of a rewrite as offsets into the texts of its request."""
    from .edits import written

    features = found.features
    source, units = features.source, features.units
    places = _origins(request, source.turns)
    replacements = []
    for edit, score in zip(found.rewrite.edits, found.rewrite.edit_log_probabilities, strict=True):
        start = units[edit.start].start if edit.start < len(units) else (units[-1].end if units else 0)
        end = units[edit.stop - 1].end if edit.stop > edit.start else start
        antecedents = []
        for segment in edit.segments:
            if segment.start < len(source.units):
                turn = places[source.turn_of[segment.start]]
                first, last = source.units[segment.start], source.units[segment.stop - 1]
                antecedents.append(Antecedent(source.text(segment), turn, first.start, last.end))
        replacements.append(
            Replacement(start, end, written(source, edit.segments), tuple(antecedents), math.exp(score))
        )
    return replacements


def _origins(request: RewriteRequest, kept: Sequence[str]) -> list[int | None]:
    """The turn of the request that each turn that was read is (its head, where it was cut); None for the names."""
    given = [(None, joined_names(request.names))] if request.names else []
    numbered: list[tuple[int | None, str]] = [*given, *enumerate(request.turns)]
    numbered = [(number, turn) for number, turn in numbered if turn]
    if not kept:
        return []
    # the first turn and the latest ones are read: see FeatureReader
    return [numbered[0][0], *(number for number, _ in numbered[len(numbered) - len(kept) + 1 :])]
