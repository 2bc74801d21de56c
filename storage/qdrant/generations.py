"""Generations of the vector index on a Qdrant server: one set of collections a model (DESIGN §8)."""

from typing_extensions import override

from memory.ports.generations import GenerationStore, VectorModel

from .vectors import QdrantSettings, QdrantVectors


class QdrantGenerations(GenerationStore):
    """One client a model, made at its first use; sends nothing before.

    Args:
        settings: Where the server is.
    """

    def __init__(self, settings: QdrantSettings) -> None:
        self._settings = settings
        self._indexes: dict[str, QdrantVectors] = {}

    @override
    def index(self, model: VectorModel) -> QdrantVectors:
        if model.model_id not in self._indexes:
            self._indexes[model.model_id] = QdrantVectors.connect(
                self._settings, model_id=model.model_id, dimension=model.dimension, live=False
            )
        return self._indexes[model.model_id]

    @override
    async def make_live(self, model: VectorModel) -> None:
        await self.index(model).make_live()

    @override
    async def drop(self, model: VectorModel) -> None:
        await self.index(model).drop()

    async def close(self) -> None:
        """Lets go of the connections."""
        for index in self._indexes.values():
            await index.close()
