"""Rewrites queries with the shipped weights: what a deployment holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import override

from memory.values.rewrites import Antecedent, Replacement, RewriteRequest, RewriteResult

from ..body.weight_file_model import WeightFileModel

if TYPE_CHECKING:
    from .decisions import KeepRule
    from .edits import Segment
    from .features import FeatureReader, Features
    from .inference import Rewritten
    from .network import RewriterNetwork

_NAMES_APART = "、"


@dataclass(frozen=True, slots=True)
class PreparedRewrite:
    """A request with what the network reads of it."""

    request: RewriteRequest
    features: "Features"

    @property
    def token_count(self) -> int:
        """How many tokens the network will read."""
        return self.features.token_count


@dataclass(frozen=True, slots=True)
class _Loaded:
    network: "RewriterNetwork"
    reader: "FeatureReader"
    pad_id: int
    rule: "KeepRule"


class Rewriter(WeightFileModel[_Loaded]):
    """Rewrites batches of queries; safe to call from several threads, which take turns.

    The weights are read at the first call.

    Args:
        weights: The weight file (`weights.save_weights`).
        cache: Where prepared models are kept.
        device: `cpu` or `cuda`.
        threads: CPU threads in the whole process; None leaves torch as it is.
    """

    component = "rewriter"

    def prepare(self, requests: Sequence[RewriteRequest]) -> list[PreparedRewrite]:
        """Tokenises requests in order; several threads may do so at a time.

        Raises:
            ModelUnavailable: See `load`.
        """
        loaded = self.parts()
        return [PreparedRewrite(one, loaded.reader.read(turns_of(one), one.query)) for one in requests]

    def forward(self, prepared: Sequence[PreparedRewrite]) -> list[RewriteResult]:
        """Rewrites prepared requests in order.

        Raises:
            ModelUnavailable: See `load`.
        """
        from .decoding import DecodingLimits
        from .inference import rewrite_all

        loaded = self.parts()
        limits = DecodingLimits(keep_from=loaded.rule.keep_from)
        with self._lock:
            found = rewrite_all(loaded.network, [one.features for one in prepared], pad_id=loaded.pad_id, limits=limits)
        return [result_of(one.request, each, loaded.rule) for one, each in zip(prepared, found, strict=True)]

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[RewriteResult]:
        """Rewrites queries in order.

        Raises:
            ModelUnavailable: See `load`.
        """
        return self.forward(self.prepare(requests))

    @override
    def _load(self) -> _Loaded:
        from ..assets.compact_vocabulary import open_vocabulary
        from ..body.edit_units import UnitTokenizer
        from .features import FeatureReader
        from .network import RewriterNetwork
        from .weights import read_settings

        settings = read_settings(self._weights)
        network, body = self._load_network(lambda body: RewriterNetwork(body, settings.shape), body=settings.body)
        tokenizer = UnitTokenizer(open_vocabulary(body, self._cache), simplified=True)
        return _Loaded(network, FeatureReader(tokenizer, settings.words), tokenizer.pad_id, settings.rule)


def joined_names(names: Sequence[str]) -> str:
    """What long-term memory offers, as the turn that the network reads first."""
    return _NAMES_APART.join(names)


def turns_of(request: RewriteRequest) -> list[str]:
    """The turns that the network reads: the names, where there are any, and the conversation."""
    return [joined_names(request.names), *request.turns] if request.names else list(request.turns)


def result_of(request: RewriteRequest, found: "Rewritten", rule: "KeepRule") -> RewriteResult:
    """What a caller is told of a rewrite, with offsets into the texts of its request."""
    rewrite = found.rewrite
    keep = rule.keep_probability(rewrite)
    kept = rule.keeps(rewrite)
    replacements = () if kept else tuple(replacements_of(request, found, rule))
    return RewriteResult(
        text=found.text(rule),
        replacements=replacements,
        keep_probability=keep,
        confidence=keep if kept else (1.0 - keep) * min(one.confidence for one in replacements),
    )


def replacements_of(request: RewriteRequest, found: "Rewritten", rule: "KeepRule") -> list[Replacement]:
    """The edits of a rewrite as offsets into the texts of its request."""
    from .edits import written

    source, units, rewrite = found.features.source, found.features.units, found.rewrite
    places = _origins(request, source.turns)

    def antecedent(segment: "Segment", probability: float) -> Antecedent:
        first, last = source.units[segment.start], source.units[segment.stop - 1]
        turn = places[source.turn_of[segment.start]]
        text = source.text(segment)
        return Antecedent(text=text, turn=turn, start=first.start, end=last.end, probability=probability)

    replacements = []
    for edit, score, filling in zip(rewrite.edits, rewrite.edit_log_probabilities, rewrite.fillings, strict=True):
        start = units[edit.start].start if edit.start < len(units) else (units[-1].end if units else 0)
        replacements.append(
            Replacement(
                start=start,
                end=units[edit.stop - 1].end if edit.stop > edit.start else start,
                text=written(source, edit.segments),
                antecedents=tuple(
                    antecedent(segment, probability)
                    for segment, probability in zip(edit.segments, filling.probabilities, strict=True)
                    if segment.start < len(source.units)
                ),
                confidence=rule.right_probability(score),
                alternatives=tuple(antecedent(*other) for other in filling.others),
            )
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
