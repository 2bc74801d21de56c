"""Generations of the embedded vector index: folders side by side, in the one process that owns them (DESIGN §8)."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

from typing_extensions import override

from memory.ports.stores.generations import GenerationStore, VectorModel
from memory.ports.stores.vectors import Collection

from ..shared.encryption import NO_CIPHER, Cipher
from ..shared.index_checks import unavailable
from ..shared.index_points import stored_name
from .shards import Aliases, delete_left_overs, drop_shards, models_in
from .vectors import EdgeVectors


class EdgeGenerations(GenerationStore):
    """Opens a model's shards at their first use, and closes them with itself.

    Args:
        folder: Where the shards are; no other process may have it open.
        cipher: Encrypts payloads.
    """

    def __init__(self, folder: Path, *, cipher: Cipher = NO_CIPHER) -> None:
        self._folder = folder
        self._cipher = cipher
        self._open: dict[str, EdgeVectors] = {}
        self._opening = threading.Lock()

    @override
    def index(self, model: VectorModel) -> EdgeVectors:
        """The index of a model's vectors; the first call for a model opens files and blocks.

        Raises:
            StoreUnavailable: Another process owns the files, or they are damaged.
        """
        with self._opening:
            if model.model_id not in self._open:
                self._open[model.model_id] = EdgeVectors.open(
                    self._folder,
                    model_id=model.model_id,
                    dimension=model.dimension,
                    live=False,
                    cipher=self._cipher,
                )
            return self._open[model.model_id]

    def open_live(self, model: VectorModel) -> None:
        """Opens a model's shards while starting, unless the aliases say that another one is live.

        Raises:
            StoreUnavailable: See `index`.
        """
        name = stored_name(Collection.MEMORIES, model.model_id)
        if Aliases(self._folder).read().get(Collection.MEMORIES.value, name) == name:
            self.index(model)

    async def opened(self, model: VectorModel) -> EdgeVectors:
        """Like `index`, for an event loop."""
        known = self._open.get(model.model_id)
        return await asyncio.to_thread(self.index, model) if known is None else known

    @override
    async def make_live(self, model: VectorModel) -> None:
        def work() -> None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                Aliases(self._folder).replace(
                    {collection.value: stored_name(collection, model.model_id) for collection in Collection}
                )
            except OSError as error:
                raise unavailable(f"{self._folder} cannot be written ({error})") from error

        await asyncio.to_thread(work)

    @override
    async def drop(self, model: VectorModel) -> None:
        if index := self._open.pop(model.model_id, None):
            await index.close()
        names = [stored_name(collection, model.model_id) for collection in Collection]
        await asyncio.to_thread(drop_shards, self._folder, names)

    @override
    async def erase_user(self, user_id: str) -> int:
        erased = 0
        for model_id, dimension in (await asyncio.to_thread(models_in, self._folder)).items():
            index = await self.opened(VectorModel(model_id=model_id, dimension=dimension))
            for collection in Collection:
                if count := await index.count(collection, user_id=user_id):  # else the log would name the user anew
                    await index.delete_user(collection, user_id=user_id)
                    erased += count
        return erased

    @override
    async def erase_points(self, point_ids: Sequence[str], *, user_id: str) -> int:
        erased = 0
        for model_id, dimension in (await asyncio.to_thread(models_in, self._folder)).items():
            index = await self.opened(VectorModel(model_id=model_id, dimension=dimension))
            for collection in Collection:
                if found := await index.get(collection, point_ids, user_id=user_id):
                    await index.delete(collection, [point.point_id for point in found], user_id=user_id)
                    erased += len(found)
        return erased

    @override
    async def purge(self) -> bool:
        """Writes all shards anew, and deletes those that were set aside."""
        for model_id, dimension in (await asyncio.to_thread(models_in, self._folder)).items():
            await (await self.opened(VectorModel(model_id=model_id, dimension=dimension))).rewrite()
        await asyncio.to_thread(delete_left_overs, self._folder)
        return True

    async def ping(self) -> None:
        """Returns when every generation that is open answers.

        Raises:
            StoreUnavailable: One does not.
        """
        for index in [*self._open.values()]:
            await index.ping()

    async def close(self) -> None:
        """Flushes and closes all files."""
        for index in [*self._open.values()]:
            await index.close()
