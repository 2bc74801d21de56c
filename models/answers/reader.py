"""The answer reader that ships: the trained network, and the AnswerReader port over it."""

from asyncio import gather
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from memory.ports.models.answer_reading import AnswerReader, AnswerReading, AnswerReadRequest, DatedLine, LineReading
from memory.ports.models.language import Priority

from ..batching.batched_model import BatchedModel
from ..batching.queue import BatchLimits
from ..body.trained_network import TrainedNetwork
from .features import AnswerFeatureReader, AnswerFeatures

if TYPE_CHECKING:
    from .inference import FoundAnswer
    from .network import AnswerNetwork
    from .settings import AnswerSettings

_NOTHING = AnswerReading(lines=(), unanswered=1.0)
_WARM_UP = AnswerReadRequest(
    question="我現在住哪裡？",
    lines=(
        DatedLine(text="我住板橋。", said_at=datetime(2026, 3, 1, tzinfo=UTC)),
        DatedLine(text="I moved to Sanxia last month.", said_at=datetime(2026, 5, 10, tzinfo=UTC)),
    ),
    now=datetime(2026, 6, 1, tzinfo=UTC),
)


class BatchedAnswerReader(AnswerReader):
    """A trained answer reader with a batcher in front: concurrent callers share batches.

    Args:
        reader: Its weights are read here; see `BatchedModel` for weights that cannot be read.
        limits: Bounds of a batch and of the queue; by default those for a CPU.
    """

    def __init__(self, reader: "TrainedAnswerReader", *, limits: BatchLimits | None = None) -> None:
        self.model = BatchedModel(reader.component, reader, warm_up=_WARM_UP, limits=limits)

    @override
    async def read(
        self, requests: Sequence[AnswerReadRequest], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[AnswerReading]:
        readings = iter(await self.model.submit([request for request in requests if request.lines], priority))
        return [next(readings) if request.lines else _NOTHING for request in requests]


class AnswerReaders(AnswerReader):
    """Has lines of conversation read by one reader and excerpts of documents by another.

    Args:
        lines: Reads conversation.
        documents: Reads excerpts.
    """

    def __init__(self, *, lines: BatchedAnswerReader, documents: BatchedAnswerReader) -> None:
        self._lines = lines
        self._documents = documents

    @property
    def models(self) -> dict[str, BatchedModel[Any, Any, Any]]:
        """What runs, by name."""
        return {
            TrainedAnswerReader.component: self._lines.model,
            TrainedDocumentReader.component: self._documents.model,
        }

    @override
    async def read(
        self, requests: Sequence[AnswerReadRequest], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[AnswerReading]:
        readers = {False: self._lines, True: self._documents}
        readings = await gather(
            *(
                reader.read([request for request in requests if request.of_documents is kind], priority=priority)
                for kind, reader in readers.items()
            )
        )
        of_kind = dict(zip(readers, map(iter, readings), strict=True))
        return [next(of_kind[request.of_documents]) for request in requests]


@dataclass(frozen=True, slots=True)
class _Parts:
    network: "AnswerNetwork"
    reader: AnswerFeatureReader
    pad_id: int
    settings: "AnswerSettings"


class TrainedAnswerReader(TrainedNetwork[_Parts]):
    """Reads batches of questions with their lines; safe to call from several threads at once.

    The weights are read at the first call. The arguments are those of `TrainedNetwork`.
    """

    component = "answers"

    def prepare(self, requests: Sequence[AnswerReadRequest]) -> list[AnswerFeatures]:
        """Tokenises questions, each with at least one line, in order.

        Raises:
            ModelUnavailable: The weight file or the body is missing or broken.
        """
        reader = self.parts().reader
        return [reader.read(request) for request in requests]

    def forward(self, prepared: Sequence[AnswerFeatures]) -> list[AnswerReading]:
        """Reads prepared questions in order.

        Raises:
            ModelUnavailable: The weight file or the body is missing or broken.
        """
        from .inference import find_answers

        parts = self.parts()
        found = find_answers(parts.network, prepared, pad_id=parts.pad_id)
        return [reading_of(answer, parts.settings) for answer in found]

    def read(self, requests: Sequence[AnswerReadRequest]) -> list[AnswerReading]:
        """`prepare` and `forward` in one call."""
        return self.forward(self.prepare(requests))

    @override
    def _load(self) -> _Parts:
        from ..assets.compact_vocabulary import open_vocabulary
        from ..assets.weight_files import read_settings
        from ..body.edit_units import EditUnitTokenizer
        from .network import AnswerNetwork
        from .settings import AnswerSettings

        settings = read_settings(self._weights, AnswerSettings)
        network, body = self._load_network(lambda body: AnswerNetwork(body, settings.shape), body=settings.body)
        tokenizer = EditUnitTokenizer(open_vocabulary(body, self._cache), simplified=True)
        return _Parts(network, AnswerFeatureReader(tokenizer), tokenizer.pad_id, settings)


class TrainedDocumentReader(TrainedAnswerReader):
    """The same, of excerpts of documents, with weights of its own."""

    component = "document_answers"


def reading_of(found: "FoundAnswer", settings: "AnswerSettings") -> AnswerReading:
    """What was found, with calibrated probabilities."""
    return AnswerReading(
        lines=tuple(
            LineReading(
                answers=settings.answers(line.answers),
                outdated=settings.outdated(line.outdated),
                start=line.start,
                end=line.end,
                words=line.words,
                meant=line.meant,
                replaced=line.replaced,
                clause=line.clause,
            )
            for line in found.lines
        ),
        unanswered=settings.unanswered(found.unanswered),
    )
