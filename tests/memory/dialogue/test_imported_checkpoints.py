"""A checkpoint that came with an import is read as plain data: nothing that it names is constructed."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from memory.checkpoints.places import thread_of
from memory.checkpoints.saver import ItemSaver
from memory.dialogue.checkpoints import RecordSaver
from memory.items.store import ItemStore, OwnItems
from memory.portability.exporting import export_user
from memory.portability.importing import import_user
from memory.ports.models.language import Encoder
from memory.ports.stores.record import SystemOfRecord
from memory.values.base import utc_now
from memory.values.items import ItemCollection
from storage.inmemory.record import InMemoryRecord
from storage.inmemory.sessions import InMemorySessions

CONFIG: Any = {"configurable": {"thread_id": thread_of("ann", "s", "t"), "checkpoint_ns": ""}}
constructed: list[str] = []


@dataclass
class Trap:
    """Tells when it is constructed."""

    text: str

    def __post_init__(self) -> None:
        constructed.append(self.text)


async def _no_encoder() -> Encoder:
    raise AssertionError("checkpoints are not embedded")


def item_saver(record: SystemOfRecord) -> BaseCheckpointSaver[Any]:
    """The saver of callers' graphs, for ann."""
    store = ItemStore(record, encoder=_no_encoder)
    return ItemSaver(OwnItems(store, user_id="ann", collection=ItemCollection.CHECKPOINTS))


async def imported(saver_of: Callable[[SystemOfRecord], BaseCheckpointSaver[Any]]) -> BaseCheckpointSaver[Any]:
    """A saver over a record into which a checkpoint and a write were imported that name `Trap`."""
    source, target, sessions = InMemoryRecord(), InMemoryRecord(), InMemorySessions()
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"given": [Trap("channel")]}
    saver = saver_of(source)
    saved = await saver.aput(CONFIG, checkpoint, {}, {})
    await saver.aput_writes(saved, [("given", Trap("write"))], "task")
    pages = export_user(source, sessions, user_id="ann", version="1", now=utc_now())
    file = io.BytesIO(b"".join([page async for page in pages]))
    await import_user(target, sessions, file, user_id="ann", now=utc_now())
    constructed.clear()
    return saver_of(target)


async def loaded(saver: BaseCheckpointSaver[Any]) -> CheckpointTuple:
    """The imported checkpoint."""
    found = await saver.aget_tuple(CONFIG)
    assert found is not None
    return found


@pytest.mark.parametrize("saver_of", [RecordSaver, item_saver])
async def test_an_imported_checkpoint_constructs_nothing(saver_of: Callable[..., BaseCheckpointSaver[Any]]) -> None:
    found = await loaded(await imported(saver_of))
    assert found.checkpoint["channel_values"] == {"given": [{"text": "channel"}]}
    assert found.pending_writes == [("task", "given", {"text": "write"})]
    assert constructed == []


async def test_the_permissive_serialiser_would_construct_what_is_named() -> None:
    saver = await imported(RecordSaver)
    saver.serde = JsonPlusSerializer(allowed_msgpack_modules=True)
    await loaded(saver)
    assert sorted(constructed) == ["channel", "write"]
