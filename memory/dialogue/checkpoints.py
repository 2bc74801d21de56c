"""Checkpoints of unfinished turns in the system of record, so that a killed turn goes on in any other process (003 §5).

Of a turn only the latest checkpoint is kept, with the writes that belong to it. It is an item with its session, and is
erased with that.
"""

import base64
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from typing_extensions import override

from ..checkpoints.places import turn_of
from ..checkpoints.saver import strict_serializer
from ..ports.stores.items import item_pages
from ..ports.stores.record import SystemOfRecord
from ..values.base import utc_now
from ..values.ids import derive_id
from ..values.items import ItemCollection, ItemPlace, StoredItem

KEPT = timedelta(days=7)
"""After so long a turn that nobody went on with is forgotten."""
MAX_WRITES = 1_000
_CHECKPOINT = "checkpoint"
_WRITES = "writes"
_DIALOGUE = ItemCollection.DIALOGUE


class RecordSaver(BaseCheckpointSaver[int]):
    """Keeps the checkpoints of threads that `thread_of` names; it has no history, and works in asyncio alone.

    Args:
        record: Where they are kept.
        now: The clock.
    """

    def __init__(self, record: SystemOfRecord, *, now: Callable[[], datetime] = utc_now) -> None:
        super().__init__(serde=strict_serializer())
        self._record = record
        self._now = now

    @override
    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        thread = _Thread(config["configurable"]["thread_id"])
        async with self._record.reading(user_id=thread.user_id) as unit:
            items = await unit.items.page(_DIALOGUE, prefix=(thread.label,), limit=MAX_WRITES)
        return self._tuple(thread, items)

    @override
    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """The checkpoints of a thread, or those of the user and session that `filter` names."""
        if config is not None:
            found = await self.aget_tuple(config)
            if found is not None:
                yield found
            return
        owner = filter or {}
        async with self._record.reading(user_id=owner["user_id"]) as unit:
            items = [item async for page in item_pages(unit.items, _DIALOGUE, limit=MAX_WRITES) for item in page]
        for item in items:
            if item.key == _CHECKPOINT and item.session_id == owner["session_id"]:
                found = self._tuple(_Thread(str(item.value["thread_id"])), [item])
                if found is not None:
                    yield found

    @override
    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        thread = _Thread(config["configurable"]["thread_id"])
        value = {
            "thread_id": thread.thread_id,
            "checkpoint_id": checkpoint["id"],
            "checkpoint": self._packed(checkpoint),
            "metadata": self._packed(metadata),
        }
        async with self._record.writing(user_id=thread.user_id) as unit:
            old = await unit.items.page(_DIALOGUE, prefix=(thread.label, _WRITES), limit=MAX_WRITES)
            await unit.items.delete([item.place for item in old if item.value["checkpoint_id"] != checkpoint["id"]])
            await unit.items.put([self._item(thread, (thread.label,), _CHECKPOINT, value)])
            await unit.commit()
        return thread.config(checkpoint["id"])

    @override
    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        thread = _Thread(config["configurable"]["thread_id"])
        checkpoint_id = config["configurable"]["checkpoint_id"]
        items = [
            self._item(
                thread,
                (thread.label, _WRITES),
                f"{checkpoint_id} {task_id} {WRITES_IDX_MAP.get(channel, place):+05d}",
                {
                    "checkpoint_id": checkpoint_id,
                    "task_id": task_id,
                    "channel": channel,
                    "value": self._packed(value),
                },
            )
            for place, (channel, value) in enumerate(writes)
        ]
        async with self._record.writing(user_id=thread.user_id) as unit:
            await unit.items.put(items)
            await unit.commit()

    @override
    async def adelete_thread(self, thread_id: str) -> None:
        thread = _Thread(thread_id)
        async with self._record.writing(user_id=thread.user_id) as unit:
            items = await unit.items.page(_DIALOGUE, prefix=(thread.label,), limit=MAX_WRITES)
            await unit.items.delete([item.place for item in items])
            await unit.commit()

    def _tuple(self, thread: "_Thread", items: Sequence[StoredItem]) -> CheckpointTuple | None:
        now = self._now()
        saved = next((item for item in items if item.key == _CHECKPOINT and item.is_there(now)), None)
        if saved is None:
            return None
        id_ = saved.value["checkpoint_id"]
        pending = [item for item in items if item.key != _CHECKPOINT and item.value["checkpoint_id"] == id_]
        return CheckpointTuple(
            config=thread.config(str(id_)),
            checkpoint=self._unpacked(saved.value["checkpoint"]),
            metadata=self._unpacked(saved.value["metadata"]),
            pending_writes=[
                (str(item.value["task_id"]), str(item.value["channel"]), self._unpacked(item.value["value"]))
                for item in sorted(pending, key=lambda item: item.key)
            ],
        )

    def _item(self, thread: "_Thread", namespace: tuple[str, ...], key: str, value: Mapping[str, Any]) -> StoredItem:
        now = self._now()
        place = ItemPlace(_DIALOGUE, namespace, key)
        return StoredItem.model_validate(
            {
                "user_id": thread.user_id,
                **place._asdict(),
                "value": dict(value),
                "created_at": now,
                "updated_at": now,
                "ttl_minutes": KEPT.total_seconds() / 60,
                "expires_at": now + KEPT,
                "session_id": thread.session_id,
            }
        )

    def _packed(self, value: object) -> list[str]:
        kind, data = self.serde.dumps_typed(value)
        return [kind, base64.b64encode(data).decode("ascii")]

    def _unpacked(self, packed: Any) -> Any:
        kind, data = packed
        return self.serde.loads_typed((kind, base64.b64decode(data)))


class _Thread:
    """A thread, whose name says whose it is."""

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        turn = turn_of(thread_id)
        if turn is None:
            raise ValueError("thread_id: not the thread of a turn")
        self.user_id, self.session_id, turn_id = turn
        self.label = derive_id("dialogue", self.user_id, self.session_id, turn_id)

    def config(self, checkpoint_id: str) -> RunnableConfig:
        """What names a checkpoint of it."""
        return {"configurable": {"thread_id": self.thread_id, "checkpoint_ns": "", "checkpoint_id": checkpoint_id}}
