"""A LangGraph checkpoint saver over items, so that an interrupted or killed graph goes on where it was."""

import random
from collections.abc import AsyncIterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from typing_extensions import override

from ..ports.stores.items import ItemBatches
from ..values.items import (
    FoundItem,
    GetItem,
    ItemOrder,
    ItemResult,
    ListNamespaces,
    PutItem,
    SearchItems,
    StoredItem,
)
from .places import (
    CHECKPOINTS,
    checkpoints_place,
    label,
    packed,
    session_of,
    text_of,
    thread_place,
    unpacked,
    writes_place,
)

_PAGE = 100


def strict_serializer() -> JsonPlusSerializer:
    """LangGraph's serialiser, which of what it loads constructs plain values and LangGraph's own types alone.

    Checkpoints can be written by an import, and a permissive serialiser imports and calls whatever they name.
    """
    return JsonPlusSerializer(allowed_msgpack_modules=None)


class ItemSaver(BaseCheckpointSaver[str]):
    """Keeps each checkpoint whole, with its writes beside it; its methods are the asynchronous ones.

    A put of a checkpoint that is there already replaces it. Threads are erased with their session: that of
    the same name, or of the turn of a dialogue that they are (`session_of`).

    Args:
        items: Where they are kept, for one user.
        serde: Writes and reads values; None for that of `strict_serializer`.
    """

    def __init__(self, items: ItemBatches, *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde or strict_serializer())
        self._items = items

    @override
    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        thread_id, checkpoint_ns = _thread_of(config)
        place = checkpoints_place(thread_id, checkpoint_ns)
        if checkpoint_id := get_checkpoint_id(config):
            [found] = await self._items.batch([GetItem(namespace=place, key=checkpoint_id)])
        else:
            latest = SearchItems(prefix=place, order=ItemOrder.KEY_DESCENDING, limit=1)
            found = next(iter(_found(await self._items.batch([latest]))), None)
        return await self._tuple(thread_id, checkpoint_ns, found) if isinstance(found, StoredItem) else None

    @override
    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        wanted_id = get_checkpoint_id(config) if config else None
        before_id = get_checkpoint_id(before) if before else None
        left = limit
        for thread_id, checkpoint_ns in await self._threads(config):
            async for item in self._all(checkpoints_place(thread_id, checkpoint_ns), ItemOrder.KEY_DESCENDING):
                if left is not None and left <= 0:
                    return
                if (wanted_id and item.key != wanted_id) or (before_id and item.key >= before_id):
                    continue
                if filter and not _has(self._metadata(item), filter):
                    continue
                left = None if left is None else left - 1
                yield await self._tuple(thread_id, checkpoint_ns, item)

    @override
    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        thread_id, checkpoint_ns = _thread_of(config)
        kept = {
            "checkpoint": packed(self.serde.dumps_typed(checkpoint)),
            "metadata": packed(self.serde.dumps_typed(get_checkpoint_metadata(config, metadata))),
            "parent": get_checkpoint_id(config),
        }
        await self._items.batch([_put(thread_id, checkpoints_place(thread_id, checkpoint_ns), checkpoint["id"], kept)])
        return _config(thread_id, checkpoint_ns, checkpoint["id"])

    @override
    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        thread_id, checkpoint_ns = _thread_of(config)
        place = writes_place(thread_id, checkpoint_ns, str(get_checkpoint_id(config)))
        puts = []
        for number, (channel, value) in enumerate(writes):
            index = WRITES_IDX_MAP.get(channel, number)
            kept = {
                "task_id": task_id,
                "index": index,
                "channel": channel,
                "value": packed(self.serde.dumps_typed(value)),
                "path": task_path,
            }
            puts.append(_put(thread_id, place, f"{task_id}/{index}", kept))
        # A write of a task is kept once; errors, interrupts and the like are replaced.
        known = await self._items.batch([GetItem(namespace=place, key=put.key) for put in puts])
        new = [
            put
            for put, there in zip(puts, known, strict=True)
            if there is None or (put.value is not None and put.value["index"] in WRITES_IDX_MAP.values())
        ]
        await self._items.batch(new)

    @override
    async def adelete_thread(self, thread_id: str) -> None:
        everything = SearchItems(prefix=thread_place(thread_id), limit=_PAGE)
        while found := _found(await self._items.batch([everything])):
            await self._items.batch([PutItem(namespace=item.namespace, key=item.key, value=None) for item in found])

    @override
    def get_next_version(self, current: str | None, channel: None) -> str:
        """Greater than the version before; two branches of a thread never have the same."""
        number = 0 if current is None else int(str(current).partition(".")[0])
        return f"{number + 1:032}.{random.random():016}"

    async def _threads(self, config: RunnableConfig | None) -> list[tuple[str, str]]:
        """The threads, and their namespaces, that a list is of."""
        if config is None:
            prefix: tuple[str, ...] = ("*", CHECKPOINTS)
        else:
            thread_id = str(config["configurable"]["thread_id"])
            checkpoint_ns = config["configurable"].get("checkpoint_ns")
            prefix = (label(thread_id), CHECKPOINTS, *([] if checkpoint_ns is None else [label(checkpoint_ns)]))
        threads: list[tuple[str, str]] = []
        while True:
            listing = ListNamespaces(prefix=prefix, limit=_PAGE, offset=len(threads))
            [page] = await self._items.batch([listing])
            found = [labels for labels in page or () if isinstance(labels, tuple)] if isinstance(page, tuple) else []
            threads += [(text_of(str(labels[0])), text_of(str(labels[2]))) for labels in found]
            if len(found) < _PAGE:
                return threads

    async def _all(self, place: tuple[str, ...], order: ItemOrder) -> AsyncIterator[StoredItem]:
        offset = 0
        while True:
            page = _found(await self._items.batch([SearchItems(prefix=place, order=order, limit=_PAGE, offset=offset)]))
            for item in page:
                yield item
            if len(page) < _PAGE:
                return
            offset += _PAGE

    async def _tuple(self, thread_id: str, checkpoint_ns: str, item: StoredItem) -> CheckpointTuple:
        place = writes_place(thread_id, checkpoint_ns, item.key)
        writes = [found.value async for found in self._all(place, ItemOrder.KEY)]
        writes.sort(key=_order_of)
        parent = item.value["parent"]
        return CheckpointTuple(
            config=_config(thread_id, checkpoint_ns, item.key),
            checkpoint=self.serde.loads_typed(unpacked(item.value["checkpoint"])),
            metadata=self._metadata(item),
            parent_config=_config(thread_id, checkpoint_ns, parent) if isinstance(parent, str) else None,
            pending_writes=[self._pending(write) for write in writes],
        )

    def _metadata(self, item: StoredItem) -> CheckpointMetadata:
        metadata: CheckpointMetadata = self.serde.loads_typed(unpacked(item.value["metadata"]))
        return metadata

    def _pending(self, write: dict[str, Any]) -> PendingWrite:
        return write["task_id"], write["channel"], self.serde.loads_typed(unpacked(write["value"]))


def _thread_of(config: RunnableConfig) -> tuple[str, str]:
    configurable = config["configurable"]
    return str(configurable["thread_id"]), str(configurable.get("checkpoint_ns") or "")


def _config(thread_id: str, checkpoint_ns: str, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": checkpoint_ns, "checkpoint_id": checkpoint_id}}


def _put(thread_id: str, place: tuple[str, ...], key: str, value: dict[str, Any]) -> PutItem:
    return PutItem(namespace=place, key=key, value=value, index=False, session_id=session_of(thread_id))


def _found(results: Sequence[ItemResult]) -> list[StoredItem]:
    """The items of a search, which was alone in its batch."""
    [found] = results
    return [entry.item for entry in found if isinstance(entry, FoundItem)] if isinstance(found, tuple) else []


def _has(metadata: CheckpointMetadata, wanted: dict[str, Any]) -> bool:
    return all(dict(metadata).get(name) == value for name, value in wanted.items())


def _order_of(write: dict[str, Any]) -> tuple[str, str, int]:
    return writes_sort_key(write["path"], write["task_id"], write["index"])
