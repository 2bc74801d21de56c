"""The setting `aam.model`: typed memories have an encoder and a collection of their own (001 §2.2)."""

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deployments.builders.storage.spaces import WantedModels, open_spaces, vector_model
from deployments.config.settings import AppArgs
from deployments.remote.handles import Remote
from deployments.remote.vectors import RemoteGenerations
from memory.ports.stores.vectors import Collection
from models.assets.catalog import DEFAULT_MODEL
from storage.inmemory.record import InMemoryRecord

TYPED = "all-mpnet-base-v2"


@pytest.fixture
def args(tmp_path: Path) -> AppArgs:
    return AppArgs.model_validate({"home": tmp_path, "model": DEFAULT_MODEL, "aam": {"model": TYPED}})


class Shard:
    """A handle that notes for which model's vectors it is asked."""

    def __init__(self) -> None:
        self.requested_models: list[tuple[str, int]] = []
        self.count = SimpleNamespace(remote=self._count)

    async def _count(self, model: Any, *_: Any) -> int:
        self.requested_models.append((model.model_id, model.dimension))
        return 0


async def test_their_space_is_no_generation_whatever_model_is_live(args: AppArgs) -> None:
    shard: Any = Shard()
    generations = RemoteGenerations(Remote(shard, component="vectors", deadline_s=1))
    embedder: Any = SimpleNamespace()
    spaces = open_spaces(
        args,
        record=InMemoryRecord(),
        model=vector_model(args, DEFAULT_MODEL),
        embedder=embedder,
        generations=generations,
        deadline_s=1,
    )
    first, second = (spaces.of(vector_model(args, name)) for name in (DEFAULT_MODEL, TYPED))
    assert first.part(Collection.FACTS) is second.part(Collection.FACTS)
    assert first.part(Collection.MEMORIES) is first
    typed = first.part(Collection.FACTS)
    assert (typed.encoder.model_id, typed.encoder.dimension) == (TYPED, 768)
    for space in (first, second, typed):
        await space.index.count(Collection.FACTS, user_id="ann")
    assert shard.requested_models == [(DEFAULT_MODEL, 384), (TYPED, 768), (f"{TYPED}-typed", 768)]
    await generations.close()


@pytest.fixture
async def wanted_models(args: AppArgs) -> AsyncIterator[WantedModels]:
    models = WantedModels(args)
    yield models
    assert models._record is not None
    await models._record.close()


async def test_the_embedder_holds_their_model_beside_the_live_one(wanted_models: WantedModels) -> None:
    assert await wanted_models() == [DEFAULT_MODEL, TYPED]
