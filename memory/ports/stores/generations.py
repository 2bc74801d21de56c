"""Generations of vectors, and the roles that make, keep and change them (DESIGN §8).

A *vector model* names an encoder and the length of its vectors. A *generation* is the vectors of everything by one
vector model; there are two of them while the model is changed. A *vector space* is a generation that can be used: its
encoder together with its index.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ...values.base import Value
from ..jobs import PipelineRun
from ..models.language import Encoder
from .vectors import Collection, FloatVector, VectorIndex

T = TypeVar("T")


class VectorModel(Value):
    """A model as vectors know it: the generation's name, and the length of a vector."""

    model_id: str
    dimension: int


class Generations(Value):
    """Whose vectors are there.

    Args:
        live: Searched, and written.
        other: Written too, so that a switch to it, or back to it, loses nothing; None where there is one alone.
    """

    live: VectorModel
    other: VectorModel | None = None

    @property
    def written(self) -> tuple[VectorModel, ...]:
        """The models whose vectors are kept up to date, the live one first."""
        return (self.live, self.other) if self.other else (self.live,)


@dataclass(frozen=True)
class VectorSpace:
    """An encoder and the index of its vectors; taking both from one space never mixes two models.

    Attributes:
        encoder: Computes the vectors.
        index: Stores the vectors.
        own: Spaces of the collections that have a model of their own (001 §2.2), which re-embedding leaves unchanged.
    """

    encoder: Encoder
    index: VectorIndex
    own: Mapping[Collection, "VectorSpace"] = field(default_factory=dict)

    @property
    def model(self) -> VectorModel:
        """The model of the encoder."""
        return VectorModel(model_id=self.encoder.model_id, dimension=self.encoder.dimension)

    @property
    def shared(self) -> tuple[Collection, ...]:
        """Collections without a model of their own."""
        return tuple(collection for collection in Collection if collection not in self.own)

    def part(self, collection: Collection) -> "VectorSpace":
        """The space with the vectors of a collection."""
        return self.own.get(collection, self)

    def parts(self) -> list[tuple["VectorSpace", tuple[Collection, ...]]]:
        """The spaces with vectors, this one first, each with its collections."""
        owners = [self, *self.own.values()]
        parts = [
            (space, tuple(collection for collection in Collection if self.part(collection) == space))
            for space in each_once(owners)
        ]
        return [(space, collections) for space, collections in parts if collections]


def each_once(items: Iterable[T]) -> list[T]:
    """The distinct items, in order; compared by equality, as spaces have no hash."""
    kept: list[T] = []
    for item in items:
        if item not in kept:
            kept.append(item)
    return kept


class VectorSpaces(ABC):
    """The current vector spaces. Callers take a space when their work begins and use it to the end."""

    @abstractmethod
    async def live(self) -> VectorSpace:
        """The space to search in.

        Raises:
            StoreUnavailable: The record that names it cannot be read.
        """

    @abstractmethod
    async def written(self) -> Sequence[VectorSpace]:
        """The spaces to keep up to date, the live one first.

        Raises:
            StoreUnavailable: The record that names them cannot be read.
        """


class GenerationStore(ABC):
    """Keeps one set of collections a model."""

    @abstractmethod
    def index(self, model: VectorModel) -> VectorIndex:
        """The index of a model's vectors; its collections are made at the first use. Sends nothing by itself."""

    @abstractmethod
    async def make_live(self, model: VectorModel) -> None:
        """Points the collections' names without a model at this model's, all of them in one step.

        Raises:
            StoreUnavailable: The store cannot answer.
        """

    @abstractmethod
    async def erase_user(self, user_id: str) -> int:
        """Removes a user's points by all models, also by those that are not in use any more; how many those were.

        Raises:
            StoreUnavailable: The store cannot answer; some of them may be gone.
        """

    @abstractmethod
    async def erase_points(self, point_ids: Sequence[str], *, user_id: str) -> int:
        """Removes a user's points by their ids, from every collection of every model; how many those were.

        Raises:
            StoreUnavailable: The store cannot answer; some of them may be gone.
        """

    @abstractmethod
    async def purge(self) -> bool:
        """Removes what deleted points left in files; whether that is certain, or left to a server that does so in time.

        Raises:
            StoreUnavailable: It could not be done now.
        """

    @abstractmethod
    async def drop(self, model: VectorModel) -> None:
        """Deletes a model's collections; does nothing where there are none, so that it can be repeated.

        Raises:
            StoreUnavailable: The store cannot answer; some of them may be gone.
        """


@dataclass(frozen=True)
class EmbeddedItem:
    """An item of the record and the vector that a model made of it.

    Args:
        fingerprint: Of the projection that was embedded (`memory.indexing.projection`).
        vector: Shape (dimension,), float32, unit length.
    """

    user_id: str
    collection: Collection
    item_id: str
    fingerprint: str
    vector: FloatVector


class Selection(Value):
    """A selection of items of the system of record to embed.

    Args:
        collections: The collections of the items.
        waiting: Select only the items of this many oldest entries of the outbox, as of the beginning of the pass; None
            for all items.
    """

    collections: tuple[Collection, ...] = tuple(Collection)
    waiting: int | None = None


class BulkEmbedder(ABC):
    """Embeds many items of the system of record, apart from the serving Embedder."""

    @abstractmethod
    def embed(
        self, model: VectorModel, selection: Selection, *, after: str | None
    ) -> AsyncGenerator[Sequence[EmbeddedItem], None]:
        """Yields the embedded items in the order of `memory.indexing.record_pages`, in batches; close it to stop early.

        Args:
            model: The model of the vectors.
            selection: The items to embed.
            after: Cursor of the last item that is done; None for the beginning.

        Raises:
            Unavailable: A store, the model or a worker is gone; call again from where you are.
        """


class ReembeddingService(ABC):
    """Changes the model of all vectors while the service runs; one change at a time over all processes."""

    @abstractmethod
    async def start(self, model_id: str) -> PipelineRun:
        """Starts embedding everything with a model and returns at once; continues an interrupted run with this model.

        Raises:
            InvalidField: There is no such model, or it is live already.
            Conflict: A run is in progress, or a run with another model is not finished.
            Unavailable: A store is down, or the model's weights are missing.
        """

    @abstractmethod
    async def rollback(self) -> PipelineRun:
        """Goes back to the model before; what the new one made is dropped. Also ends a run that has not switched.

        Raises:
            Conflict: There is nothing to go back to.
            Unavailable: A store is down.
        """

    @abstractmethod
    async def finish(self) -> PipelineRun:
        """Drops the vectors of the model before; there is no way back then.

        Raises:
            Conflict: There is nothing to drop.
            Unavailable: A store is down.
        """

    @abstractmethod
    async def last_run(self) -> PipelineRun | None:
        """The run in progress, else the last one; None where the model was never changed."""
