"""The reader that ships: the trained network, and the Reader port over it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import override

from memory.ports.models.language import Priority, Reader
from memory.values.understanding.readings import (
    Action,
    Context,
    ContextSpan,
    Intent,
    MessageKind,
    Reading,
    ReadRequest,
    Replacement,
    Rewrite,
)

from ..batching.batched_model import BatchedModel
from ..batching.queue import BatchLimits
from ..body.trained_network import TrainedNetwork
from .long_texts import cut, is_long, join

if TYPE_CHECKING:
    from .decisions import ReaderSettings
    from .edits import Segment
    from .features import FeatureReader, Features
    from .inference import Found
    from .network import ReaderNetwork


_PIECES_AT_ONCE = 4
"""Pieces of a long text that wait at the same time: about one batch, so that little of it lies in the queue."""


class BatchedReader(Reader):
    """A trained reader with a batcher in front: concurrent callers share batches.

    A long text is read in pieces, at the priority of batch work: other messages are read between them.

    Args:
        reader: Its weights are read here; see `BatchedModel` for weights that cannot be read.
        limits: Bounds of a batch and of the queue; by default those for a CPU.
    """

    def __init__(self, reader: "TrainedReader", *, limits: BatchLimits | None = None) -> None:
        warm_up = ReadRequest(text="它多少錢？", context=Context(turns=("我買了一台 AI-Box。",)))
        self.model = BatchedModel(reader.component, reader, warm_up=warm_up, limits=limits)

    @override
    async def read(
        self, requests: Sequence[ReadRequest], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[Reading]:
        if not any(is_long(request.text) for request in requests):
            return await self.model.submit(requests, priority)
        short = [request for request in requests if not is_long(request.text)]
        readings = iter(await self.model.submit(short, priority))
        return [await self._read_long(request) if is_long(request.text) else next(readings) for request in requests]

    async def _read_long(self, request: ReadRequest) -> Reading:
        pieces = cut(request)
        readings: list[Reading] = []
        for start in range(0, len(pieces), _PIECES_AT_ONCE):
            readings += await self.model.submit(pieces[start : start + _PIECES_AT_ONCE], Priority.BATCH)
        return join(pieces, readings)


@dataclass(frozen=True, slots=True)
class PreparedMessage:
    """A message in windows."""

    windows: tuple["Features", ...]

    @property
    def token_count(self) -> int:
        """The number of tokens that the network reads."""
        return sum(window.token_count for window in self.windows)


@dataclass(frozen=True, slots=True)
class _Parts:
    network: "ReaderNetwork"
    reader: "FeatureReader"
    pad_id: int
    settings: "ReaderSettings"


class TrainedReader(TrainedNetwork[_Parts]):
    """Reads batches of messages; safe to call from several threads at once: no message waits for a long text's pass.

    The weights are read at the first call. The arguments are those of `TrainedNetwork`.
    """

    component = "reader"

    def prepare(self, requests: Sequence[ReadRequest]) -> list[PreparedMessage]:
        """Tokenises messages in order.

        Raises:
            ModelUnavailable: The weight file or the body is missing or broken.
        """
        reader = self.parts().reader
        return [PreparedMessage(tuple(reader.read(request))) for request in requests]

    def forward(self, prepared: Sequence[PreparedMessage]) -> list[Reading]:
        """Reads prepared messages in order.

        Raises:
            ModelUnavailable: The weight file or the body is missing or broken.
        """
        from .inference import find_all

        parts = self.parts()
        windows = [window for message in prepared for window in message.windows]
        found = iter(find_all(parts.network, windows, parts.settings, pad_id=parts.pad_id))
        return [reading_of([next(found) for _ in message.windows], parts.settings) for message in prepared]

    def read(self, requests: Sequence[ReadRequest]) -> list[Reading]:
        """`prepare` and `forward` in one call."""
        return self.forward(self.prepare(requests))

    @override
    def _load(self) -> _Parts:
        from ..assets.compact_vocabulary import open_vocabulary
        from ..assets.weight_files import read_settings
        from ..body.edit_units import EditUnitTokenizer
        from .decisions import ReaderSettings
        from .features import FeatureReader
        from .network import ReaderNetwork

        settings = read_settings(self._weights, ReaderSettings)
        network, body = self._load_network(lambda body: ReaderNetwork(body, settings.shape), body=settings.body)
        tokenizer = EditUnitTokenizer(open_vocabulary(body, self._cache), simplified=True)
        return _Parts(network, FeatureReader(tokenizer, settings.words), tokenizer.pad_id, settings)


def reading_of(windows: Sequence["Found"], settings: "ReaderSettings") -> Reading:
    """The reading of a message from its windows: references of the first one, names and facts of all.

    An intent holds where it does in any window; where none does, the most probable one. A long text is no request to
    forget, none for an overview, and for memory.
    """
    from .fact_reading import facts_of

    bounds = settings.thresholds
    overview, forget = (windows[0].overview, windows[0].forget) if len(windows) == 1 else (0.0, 0.0)
    best = [max(values) for values in zip(*(found.intents for found in windows), strict=True)]
    scores = sorted(zip(Intent, best, strict=True), key=_probability, reverse=True)
    others = [item for item in scores if item[0] is not Intent.FORGET]
    held = [item for item in others if item[1] >= bounds.intents]
    if forget >= bounds.to_forget(beside=scores[0][0]):
        held.append((Intent.FORGET, forget))
    is_blank = not windows[0].features.units
    return Reading(
        names=tuple(name for found in windows for name in found.names),
        intents=() if is_blank else tuple(sorted(held or others[:1], key=_probability, reverse=True)),
        kind=_kind_of(windows, bounds.kind),
        overview=overview >= bounds.overview,
        forgets_surely=forget >= bounds.forget_surely,
        may_change=windows[0].changes >= bounds.changes,
        rewrite=rewrite_of(windows[0], settings),
        facts=tuple(fact for found in windows for fact in facts_of(found)),
    )


def _kind_of(windows: Sequence["Found"], least: float) -> MessageKind:
    if len(windows) > 1 or not windows[0].features.units:
        return MessageKind.MEMORY
    return kind_of(windows[0].kinds, least)


def kind_of(probabilities: Sequence[float], least: float) -> MessageKind:
    """What a message is for: the likeliest kind but MEMORY, where these have at least that probability together.

    Args:
        probabilities: Of each kind, in order.
        least: The bound.
    """
    shares = dict(zip(MessageKind, probabilities, strict=True))
    if 1.0 - shares.pop(MessageKind.MEMORY) < least:
        return MessageKind.MEMORY
    return max(shares, key=shares.__getitem__)


def _probability(item: tuple[Intent, float]) -> float:
    return item[1]


def rewrite_of(found: "Found", settings: "ReaderSettings") -> Rewrite:
    """What a message means, with offsets into the texts of its request."""
    from .edits import apply_edits

    features, chain = found.features, found.chain
    text = features.text
    action = settings.action(chain, found.ask)
    keep = settings.keep(chain.keep_probability)
    if action is Action.KEEP:
        return Rewrite(action=action, text=text, confidence=keep)
    replacements = _replacements(found, settings)
    if action is Action.ASK:
        for replacement in replacements:
            if others := options_of(replacement, settings)[1:]:
                asked = replacement.model_copy(update={"alternatives": tuple(others)})
                return Rewrite(action=action, text=text, replacements=(asked,), confidence=settings.ask(found.ask))
        action = Action.REWRITE
    unread = text[features.units[-1].end :]
    written = apply_edits(text, features.units, features.source, chain.edits) + unread
    confidence = (1.0 - keep) * min(replacement.confidence for replacement in replacements)
    return Rewrite(action=action, text=written, replacements=tuple(replacements), confidence=confidence)


def options_of(replacement: Replacement, settings: "ReaderSettings") -> list[ContextSpan]:
    """The antecedents to ask about: the likeliest, and the others that are likely enough and no part of it."""
    options = list(replacement.antecedents[:1])
    for option in replacement.alternatives:
        apart = all(option.text not in known.text and known.text not in option.text for known in options)
        if apart and option.probability >= settings.thresholds.option:
            options.append(option)
    return options


def _replacements(found: "Found", settings: "ReaderSettings") -> list[Replacement]:
    """The edits as offsets into the texts of the request."""
    from .edits import written

    features, chain = found.features, found.chain
    source, units = features.source, features.units

    def span(segment: "Segment", probability: float) -> ContextSpan:
        first, last = source.units[segment.start], source.units[segment.stop - 1]
        turn = features.turn_numbers[source.turn_of[segment.start]]
        return ContextSpan(
            text=source.text(segment), turn=turn, start=first.start, end=last.end, probability=min(1.0, probability)
        )

    replacements = []
    for edit, score, filling in zip(chain.edits, chain.edit_log_probabilities, chain.fillings, strict=True):
        start = units[edit.start].start if edit.start < len(units) else units[-1].end
        replacements.append(
            Replacement(
                start=start,
                end=units[edit.stop - 1].end if edit.stop > edit.start else start,
                written=written(source, edit.segments),
                antecedents=tuple(
                    span(segment, probability)
                    for segment, probability in zip(edit.segments, filling.probabilities, strict=True)
                    if segment.start < len(source.units)
                ),
                confidence=settings.edit(math.exp(score)),
                alternatives=tuple(span(*alternative) for alternative in filling.alternatives),
            )
        )
    return replacements
