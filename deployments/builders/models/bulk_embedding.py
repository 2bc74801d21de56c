"""Bulk embedding on Ray Data: one reader and a pool of actors, apart from the serving Embedder (DESIGN §8)."""

import asyncio
import os
from collections.abc import AsyncGenerator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import structlog
from typing_extensions import override

from memory.indexing.record_pages import Page, Position, walk_selected
from memory.ports.models.language import Priority, TextKind
from memory.ports.stores.generations import BulkEmbedder, EmbeddedItem, Selection, VectorModel
from memory.values.errors import JiyiError, Unavailable

from ...config.settings import AppArgs
from ...serve.process import bound_memory
from ...telemetry.logs import configure_logs
from ..storage.stores import open_record
from .embedder import make_encoder

_log = structlog.get_logger(__name__)
_PROCESS = "reembedding"
"""The process name of the reader and the actors in log files."""
_BLOCK_BYTES = 64 * 1024
"""About a hundred texts: what is computed again when an actor dies, and what waits in the object store."""
_LEFT_BEHIND = (
    ("ActorLocationTracker", "ActorLocationTracker"),
    ("datasets_stats_actor", "_dataset_stats_actor"),
    ("AutoscalingCoordinator", "AutoscalingCoordinator"),
)
"""Name and namespace of the actors that Ray Data 2.60 makes for a pipeline, one of each a cluster, and never ends
(`ray/data/_internal`: `execution/node_trackers/actor_location.py`, `stats.py`, `cluster_autoscaler/`). About 340 MiB.
"""
Batch = dict[str, Any]
"""Columns of a Ray Data batch. Texts and ids travel as bytes: Arrow's strings cannot hold a lone surrogate."""


class RayEmbedder(BulkEmbedder):
    """Embeds with one Ray Data pipeline a pass: record → texts → pool of encoders → vectors, streamed in order.

    An actor that dies is restarted and gets its texts again. A reader that dies ends the pass, since a second reading
    may find the items at other positions; the caller continues after the last item that it got.

    Args:
        args: The settings of the service.
    """

    def __init__(self, args: AppArgs) -> None:
        self._args = args
        self._passes = 0

    @override
    async def embed(
        self, model: VectorModel, selection: Selection, *, after: str | None
    ) -> AsyncGenerator[Sequence[EmbeddedItem], None]:
        thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reembedding")
        loop = asyncio.get_running_loop()
        self._passes += 1
        batches: Iterator[Batch] | None = None
        try:
            batches = await loop.run_in_executor(thread, _batches, self._args, model, selection, after)
            while batch := await loop.run_in_executor(thread, _next, batches):
                yield _items(batch)
        finally:
            # In the same thread, so after the current batch.
            ending = asyncio.ensure_future(loop.run_in_executor(thread, _end, batches))
            ending.add_done_callback(self._count_end)
            thread.shutdown(wait=False)

    def _count_end(self, ending: "asyncio.Future[None]") -> None:
        """Ends what Ray Data leaves behind, unless another pass uses it."""
        self._passes -= 1
        if ending.cancelled() or (error := ending.exception()) is None:
            if not self._passes:
                end_actors_left_behind()
        else:
            _log.warning("embedding_pool_not_ended", error=str(error))


class EmbedActor:
    """One encoder of the pool: the Embedder's own, at a lower CPU priority.

    Args:
        args: The settings of the service.
        model_id: The model to load.
    """

    def __init__(self, args: AppArgs, model_id: str) -> None:
        configure_logs(args.log_folder, _PROCESS, args.log_level)
        bound_memory()
        settings = args.reembedding
        os.nice(settings.niceness)
        threads = settings.threads or max(1, (os.cpu_count() or 1) // 2)
        # Ray hides all GPUs from an actor that requested none.
        device = args.embedder.device if settings.gpus else "cpu"
        update = {"device": device, "threads": threads, "max_waiting_tokens": None}
        embedder = args.embedder.model_copy(update=update)
        self._encoder = make_encoder(args.model_copy(update={"model": model_id, "embedder": embedder}))
        self._runner = asyncio.Runner()

    def __call__(self, batch: Batch) -> Batch:
        """Encodes the texts of a batch; `vector` has shape (texts, dimension)."""
        texts = [text.decode("utf-8", "surrogatepass") for text in batch["text"]]
        vectors = self._runner.run(self._encoder.encode(texts, kind=TextKind.PASSAGE, priority=Priority.BATCH))
        return {"position": batch["position"], "fingerprint": batch["fingerprint"], "vector": vectors}


def read_texts(begin: Batch, args: AppArgs, model_id: str, selection: Selection) -> Iterator[Batch]:
    """Yields the selected items of the record after a cursor, page by page; runs in the process of a Ray task."""
    configure_logs(args.log_folder, _PROCESS, args.log_level)
    [cursor] = begin["cursor"]
    with asyncio.Runner() as runner:
        record = open_record(args, durable=False)
        pages = aiter(walk_selected(record, selection, after=cursor or None))
        try:
            while (page := runner.run(_page(pages))) is not None:
                yield _columns(page, model_id)
        finally:
            runner.run(record.close())


async def _page(pages: Any) -> Page | None:
    page: Page | None = await anext(pages, None)
    return page


def _columns(page: Page, model_id: str) -> Batch:
    cursors = [Position(page.user_id, page.collection, item.item_id).to_cursor() for item in page.items]
    return {
        "position": np.array([cursor.encode("ascii") for cursor in cursors], dtype=object),
        "text": np.array([item.dense_text.encode("utf-8", "surrogatepass") for item in page.items], dtype=object),
        "fingerprint": np.array([item.fingerprint(model_id).encode("ascii") for item in page.items], dtype=object),
    }


def _batches(args: AppArgs, model: VectorModel, selection: Selection, after: str | None) -> Iterator[Batch]:
    """Builds the pipeline and returns its batches; nothing runs before the first batch is requested."""
    import ray.data

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.target_max_block_size = _BLOCK_BYTES
    context.execution_options.preserve_order = True  # the cursor is the last item written
    pool = ray.data.ActorPoolStrategy(size=args.reembedding.actors)
    reader: Any = read_texts  # Ray's type stubs allow functions of one argument only
    texts = ray.data.from_items([{"cursor": after or ""}]).map_batches(
        reader,
        fn_args=(args, model.model_id, selection),
        batch_size=None,
        compute=ray.data.TaskPoolStrategy(size=1),
        num_cpus=0,
        max_retries=0,
    )
    vectors = texts.map_batches(
        EmbedActor,
        fn_constructor_args=(args, model.model_id),
        batch_size=None,
        compute=pool,
        num_cpus=0,
        num_gpus=args.reembedding.gpus,
    )
    return iter(vectors.iter_batches(batch_size=None, batch_format="numpy", prefetch_batches=1))


def _next(batches: Iterator[Batch]) -> Batch | None:
    from ray.exceptions import RayError

    try:
        return next(batches, None)
    except RayError as error:
        raise _cause(error) from error


def end_actors_left_behind() -> None:
    """Ends the actors that Ray Data keeps for pipelines to come; the next pipeline makes them anew."""
    import ray

    for name, namespace in _LEFT_BEHIND:
        try:
            ray.kill(ray.get_actor(name, namespace=namespace), no_restart=True)
        except ValueError:  # it is not there
            continue


def _end(batches: Iterator[Batch] | None) -> None:
    close = getattr(batches, "close", None)
    if close is not None:
        close()


def _cause(error: Exception) -> Exception:
    """The exception to raise for a failed pass.

    Jiyi's own error if a worker raised one, else Ray's error of the task; `Unavailable` if a worker died.
    """
    from ray.exceptions import RayTaskError

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, JiyiError):
            return cause
        cause = getattr(cause, "cause", None) or cause.__cause__
    if isinstance(error, RayTaskError):
        return error
    return Unavailable(f"a worker of the embedding pool died: {error}", component="reembedding")


def _items(batch: Batch) -> list[EmbeddedItem]:
    rows = zip(batch["position"], batch["fingerprint"], batch["vector"], strict=True)
    items = []
    for cursor, fingerprint, vector in rows:
        position = Position.from_cursor(bytes(cursor).decode("ascii"))
        items.append(
            EmbeddedItem(
                position.user_id,
                position.collection,
                position.item_id,
                bytes(fingerprint).decode("ascii"),
                np.asarray(vector),
            )
        )
    return items
