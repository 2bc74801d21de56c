"""The rewriter that ships: the trained network, and the QueryRewriter port over it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import override

from memory.ports.language import Priority, QueryRewriter
from memory.values.rewrites import Antecedent, Replacement, RewriteRequest, RewriteResult

from ..batching.batched_model import BatchedModel
from ..batching.queue import BatchLimits
from ..body.trained_network import TrainedNetwork

if TYPE_CHECKING:
    from .decisions import KeepRule
    from .edits import Segment
    from .features import FeatureReader, Features
    from .inference import Rewritten
    from .network import RewriterNetwork

_NAME_SEPARATOR = "、"


class BatchedRewriter(QueryRewriter):
    """A trained rewriter with a batcher in front: concurrent callers share batches.

    Args:
        rewriter: Its weights are read here; see `BatchedModel` for weights that cannot be read.
        limits: Bounds of a batch and of the queue; by default those for a CPU.
    """

    def __init__(self, rewriter: "TrainedRewriter", *, limits: BatchLimits | None = None) -> None:
        warm_up = RewriteRequest(query="它多少錢？", turns=("我買了一台 AI-Box。",))
        self.model = BatchedModel(rewriter.component, rewriter, warm_up=warm_up, limits=limits)

    @override
    async def rewrite(
        self, requests: Sequence[RewriteRequest], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[RewriteResult]:
        return await self.model.submit(requests, priority)


@dataclass(frozen=True, slots=True)
class PreparedRewrite:
    """A request with the network's input."""

    request: RewriteRequest
    features: "Features"

    @property
    def token_count(self) -> int:
        """The number of tokens that the network reads."""
        return self.features.token_count


@dataclass(frozen=True, slots=True)
class _Parts:
    network: "RewriterNetwork"
    reader: "FeatureReader"
    pad_id: int
    rule: "KeepRule"


class TrainedRewriter(TrainedNetwork[_Parts]):
    """Rewrites batches of queries; safe to call from several threads, which take turns.

    The weights are read at the first call. The arguments are those of `TrainedNetwork`.
    """

    component = "rewriter"

    def prepare(self, requests: Sequence[RewriteRequest]) -> list[PreparedRewrite]:
        """Tokenises requests in order.

        Raises:
            ModelUnavailable: The weight file or the body is missing or broken.
        """
        reader = self.parts().reader
        return [PreparedRewrite(request, reader.read(turns_of(request), request.query)) for request in requests]

    def forward(self, prepared: Sequence[PreparedRewrite]) -> list[RewriteResult]:
        """Rewrites prepared requests in order.

        Raises:
            ModelUnavailable: The weight file or the body is missing or broken.
        """
        from .decoding import DecodingLimits
        from .inference import rewrite_all

        parts = self.parts()
        limits = DecodingLimits(keep_from=parts.rule.keep_from)
        with self._lock:
            rewritten = rewrite_all(
                parts.network, [rewrite.features for rewrite in prepared], pad_id=parts.pad_id, limits=limits
            )
        return [
            result_of(rewrite.request, output, parts.rule) for rewrite, output in zip(prepared, rewritten, strict=True)
        ]

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[RewriteResult]:
        """`prepare` and `forward` in one call."""
        return self.forward(self.prepare(requests))

    @override
    def _load(self) -> _Parts:
        from ..assets.compact_vocabulary import open_vocabulary
        from ..assets.weight_files import read_settings
        from ..body.edit_units import EditUnitTokenizer
        from .decisions import RewriterSettings
        from .features import FeatureReader
        from .network import RewriterNetwork

        settings = read_settings(self._weights, RewriterSettings)
        network, body = self._load_network(lambda body: RewriterNetwork(body, settings.shape), body=settings.body)
        tokenizer = EditUnitTokenizer(open_vocabulary(body, self._cache), simplified=True)
        return _Parts(network, FeatureReader(tokenizer, settings.words), tokenizer.pad_id, settings.rule)


def joined_names(names: Sequence[str]) -> str:
    """Names from long-term memory, as one text: the network reads it as the first turn."""
    return _NAME_SEPARATOR.join(names)


def turns_of(request: RewriteRequest) -> list[str]:
    """The turns that the network reads: the names, if there are any, and the conversation."""
    return [joined_names(request.names), *request.turns] if request.names else list(request.turns)


def result_of(request: RewriteRequest, rewritten: "Rewritten", rule: "KeepRule") -> RewriteResult:
    """The result of a rewrite, with offsets into the texts of its request."""
    rewrite = rewritten.rewrite
    keep = rule.keep_probability(rewrite)
    kept = rule.keeps(rewrite)
    replacements = () if kept else tuple(replacements_of(request, rewritten, rule))
    return RewriteResult(
        text=rewritten.text(rule),
        replacements=replacements,
        keep_probability=keep,
        confidence=keep if kept else (1.0 - keep) * min(replacement.confidence for replacement in replacements),
    )


def replacements_of(request: RewriteRequest, rewritten: "Rewritten", rule: "KeepRule") -> list[Replacement]:
    """The edits of a rewrite as offsets into the texts of its request."""
    from .edits import written

    source, units, rewrite = rewritten.features.source, rewritten.features.units, rewritten.rewrite
    turn_numbers = _turn_numbers(request, source.turns)

    def antecedent(segment: "Segment", probability: float) -> Antecedent:
        first, last = source.units[segment.start], source.units[segment.stop - 1]
        turn = turn_numbers[source.turn_of[segment.start]]
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
                alternatives=tuple(antecedent(*alternative) for alternative in filling.alternatives),
            )
        )
    return replacements


def _turn_numbers(request: RewriteRequest, kept: Sequence[str]) -> list[int | None]:
    """The number in the request of each turn that the network reads; None for the names."""
    names = [(None, joined_names(request.names))] if request.names else []
    numbered: list[tuple[int | None, str]] = [*names, *enumerate(request.turns)]
    numbered = [(number, turn) for number, turn in numbered if turn]
    if not kept:
        return []
    # FeatureReader keeps the first turn and the latest ones
    return [numbered[0][0], *(number for number, _ in numbered[len(numbered) - len(kept) + 1 :])]
