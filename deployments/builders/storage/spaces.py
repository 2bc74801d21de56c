"""Opens the vector spaces that the service searches and writes, from the settings and the record (DESIGN §8)."""

import asyncio
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote

import structlog

from memory.indexing.generations import RecordedSpaces, generations_of, latest_run
from memory.ports.stores.generations import VectorModel, VectorSpace
from memory.ports.stores.record import SystemOfRecord
from memory.ports.stores.vectors import Collection
from memory.values.errors import InvalidField, ModelUnavailable, StoreUnavailable
from models.assets.catalog import get_model
from models.assets.prepare import prepare_model
from storage.edge.shards import Aliases

from ...config.settings import AppArgs
from ...remote.embedder import RemoteEmbedder, RemoteEncoder
from ...remote.handles import Handle, Remote
from ...remote.vectors import RemoteGenerations
from .stores import open_record, qdrant_settings, vectors_path

if TYPE_CHECKING:
    from storage.qdrant.generations import QdrantGenerations

_log = structlog.get_logger(__name__)
_TYPED_SUFFIX = "-typed"
"""Suffix of the collections of typed memories, so that dropping the vectors of a model keeps them."""


def vector_model(args: AppArgs, model_id: str) -> VectorModel:
    """The name and dimension of a model's vectors; the dimension is that of the catalogue, else of the weights' config.

    Raises:
        ModelUnavailable: The model is unknown, or its weights are needed and missing.
    """
    entry = get_model(model_id)
    dimension = entry.dimension
    if dimension is None:
        config = json.loads((prepare_model(model_id, args.model_cache) / "config.json").read_text())
        dimension = int(config["hidden_size"])
    return VectorModel(model_id=entry.id, dimension=dimension)


def with_live_model(args: AppArgs) -> AppArgs:
    """The settings with the live model: the one that `jiyi reembed` recorded, else the setting `model`. Blocks.

    For an embedded index from before `jiyi reembed` recorded models, the model is read from the name of its alias.
    """
    live = asyncio.run(_recorded_model(args))
    if live is None and args.stores == "embedded":
        alias = Aliases(vectors_path(args)).read().get(Collection.MEMORIES.value, "")
        live = unquote(alias.partition("__")[2]) or None
    if live is None or live == get_model(args.model).id:
        return args
    _log.warning("model_of_settings_overridden", settings=args.model, live=live, change_it_with="jiyi reembed --to")
    return args.model_copy(update={"model": live})


class WantedModels:
    """Names the models that the Embedder loads; opens the record at the first call, not when the Embedder starts."""

    def __init__(self, args: AppArgs) -> None:
        self._args = args
        self._record: SystemOfRecord | None = None

    async def __call__(self) -> Sequence[str]:
        """The models whose vectors are written, the live one first, that of typed memories last.

        Raises:
            StoreUnavailable: The record cannot be read.
        """
        if self._record is None:
            self._record = await asyncio.to_thread(open_record, self._args, durable=False)
        run = await latest_run(self._record.runs)
        written = [self._args.model] if run is None else [model.model_id for model in generations_of(run).written]
        typed = [] if self._args.aam.model is None else [self._args.aam.model]
        return [*dict.fromkeys(get_model(name).id for name in (*written, *typed))]


def open_generations(args: AppArgs, *, shard: Handle | None) -> "RemoteGenerations | QdrantGenerations":
    """Opens the vector indexes of all models; `shard` is the handle of the deployment that owns embedded indexes."""
    if shard is not None:
        return RemoteGenerations(Remote(shard, component="vectors", deadline_s=args.deadlines.vectors))
    from storage.qdrant.generations import QdrantGenerations  # lazy: the embedded stores need no client libraries

    return QdrantGenerations(qdrant_settings(args))


def open_spaces(
    args: AppArgs,
    *,
    record: SystemOfRecord,
    model: VectorModel,
    embedder: Handle,
    generations: "RemoteGenerations | QdrantGenerations",
    deadline_s: float,
) -> RecordedSpaces:
    """The vector spaces, as the record names them at each moment.

    Args:
        args: The settings.
        record: Names the models whose vectors are searched and written.
        model: The live model where the record names none.
        embedder: The handle of the Embedder, shared by all spaces.
        generations: The vector indexes of all models.
        deadline_s: Seconds that an encoding may take.
    """
    remote = RemoteEmbedder(Remote(embedder, component="embedder", deadline_s=deadline_s))

    def encoder_of(model: VectorModel) -> RemoteEncoder:
        return RemoteEncoder(remote, model_id=model.model_id, dimension=model.dimension)

    typed_space: dict[Collection, VectorSpace] = {}
    if args.aam.model is not None:
        typed = vector_model(args, args.aam.model)
        name = f"{typed.model_id}{_TYPED_SUFFIX}"
        typed_space[Collection.FACTS] = VectorSpace(
            encoder_of(typed), generations.index(typed.model_copy(update={"model_id": name}))
        )

    def open_space(model: VectorModel) -> VectorSpace:
        return VectorSpace(encoder_of(model), generations.index(model), typed_space)

    return RecordedSpaces(runs=record.runs, configured=model, open_space=open_space)


async def prepared_model(args: AppArgs, model_id: str) -> VectorModel:
    """Downloads and prepares a model's weights.

    Raises:
        InvalidField: There is no such model.
        ModelUnavailable: Its weights cannot be downloaded or prepared.
    """
    try:
        entry = get_model(model_id)
    except ModelUnavailable as error:
        raise InvalidField(error.message, field="model") from error
    await asyncio.to_thread(prepare_model, entry.id, args.model_cache)
    return await asyncio.to_thread(vector_model, args, entry.id)


async def _recorded_model(args: AppArgs) -> str | None:
    try:
        record = open_record(args, durable=False)
    except StoreUnavailable as error:  # deployments read the live model themselves once the record is back
        _log.warning("live_model_unknown", error=error.message, settings=args.model)
        return None
    try:
        run = await latest_run(record.runs)
        return None if run is None else generations_of(run).live.model_id
    except StoreUnavailable as error:
        _log.warning("live_model_unknown", error=error.message, settings=args.model)
        return None
    finally:
        await record.close()
