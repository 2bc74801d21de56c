"""Items that repeat what is erased go with it; all others stay."""

from datetime import timedelta
from typing import Any

import pytest

from memory.values.governance.decisions import ANONYMISED_TEXT
from memory.values.governance.erasures import ErasureKind, ErasureScope
from memory.values.ids import entity_id, memory_id
from memory.values.items import ItemCollection, StoredItem
from tests.memory.erasure.conversations import NOON, Said, learn
from tests.memory.erasure.fakes import Stores

SAID = (Said("s", 0, ("Quarzborn", "Basalt")), Said("s", 1, ("Gneis",)), Said("t", 2, ("Basalt",)))
FIRST = SAID[0]


@pytest.fixture
async def stores() -> Stores:
    """Three learned messages in two sessions, and items that repeat them or do not."""
    stores = Stores()
    stores.now = NOON + timedelta(hours=1)
    await learn(stores.record, SAID)
    items = [
        item("exact", {"deep": [{"text": f" {FIRST.text.upper()} "}]}),
        item("names", {"text": "Quarzborn likes tea"}),
        item("part of a word", {"text": "Quarzbornish"}),
        item("other", {"text": "Gneis is a stone"}),
        item("conversation", {"text": "hello"}, collection=ItemCollection.CONVERSATIONS, session_id="s"),
        item("state of s", {"bytes": "AAAA"}, collection=ItemCollection.CHECKPOINTS, session_id="s"),
        item("state of t", {"bytes": "AAAA"}, collection=ItemCollection.DIALOGUE, session_id="t"),
        item("put later", {"text": "x"}, updated_at=NOON + timedelta(minutes=30)),
    ]
    async with stores.record.writing(user_id="ann") as unit:
        await unit.items.put(items)
        await unit.commit()
    return stores


def item(key: str, value: dict[str, Any], **fields: Any) -> StoredItem:
    usual: dict[str, Any] = {"collection": ItemCollection.STORE, "created_at": NOON}
    usual["updated_at"] = NOON - timedelta(days=9)
    return StoredItem(user_id="ann", namespace=("a",), key=key, value=value, **usual | fields)


async def gone_after(stores: Stores, scope: ErasureScope) -> set[str]:
    """The keys of the items that an erasure takes."""
    before = await keys(stores)
    erasing = stores.erasing()
    requested = await erasing.request(scope, user_id="ann")
    assert await erasing.work()
    gone = before - await keys(stores)
    receipt = (await erasing.get(requested.erasure_id)).receipt
    assert receipt is not None
    assert receipt.removed.get("record.items", 0) == len(gone)
    return gone


async def keys(stores: Stores) -> set[str]:
    async with stores.record.reading(user_id="ann") as unit:
        return {found.key for collection in ItemCollection for found in await unit.items.page(collection, limit=99)}


async def test_with_a_session_go_its_items_and_what_repeats_its_messages(stores: Stores) -> None:
    gone = await gone_after(stores, ErasureScope(kind=ErasureKind.SESSION, session_id="s"))
    assert gone == {"exact", "conversation", "state of s"}


async def test_a_session_of_which_nothing_was_logged_leaves_no_item(stores: Stores) -> None:
    async with stores.record.writing(user_id="ann") as unit:
        await unit.items.put([item("alone", {}, session_id="never logged")])
        await unit.commit()
    assert await gone_after(stores, ErasureScope(kind=ErasureKind.SESSION, session_id="never logged")) == {"alone"}


async def test_with_a_period_goes_what_was_put_in_it(stores: Stores) -> None:
    scope = ErasureScope(kind=ErasureKind.PERIOD, since=NOON + timedelta(minutes=20))
    assert await gone_after(stores, scope) == {"put later"}


@pytest.mark.parametrize("anonymise", [False, True])
async def test_with_a_memory_go_its_copies_and_the_states_of_its_session(stores: Stores, anonymise: bool) -> None:
    more = (FIRST.resource().resource_id,)
    memory = memory_id("ann", more[0])
    scope = ErasureScope(kind=ErasureKind.ITEM, item_id=memory, more=more, anonymise=anonymise)
    assert await gone_after(stores, scope) == {"exact", "state of s"}
    async with stores.record.reading(user_id="ann") as unit:
        assert [kept.text for kept in await unit.memories.get([memory])] == [ANONYMISED_TEXT] * anonymise


async def test_with_an_entity_and_its_messages_goes_what_says_its_name(stores: Stores) -> None:
    scope = ErasureScope(kind=ErasureKind.ITEM, item_id=entity_id("ann", "Quarzborn"), messages=True)
    assert await gone_after(stores, scope) == {"exact", "names", "state of s"}


async def test_an_entity_alone_leaves_what_callers_keep(stores: Stores) -> None:
    scope = ErasureScope(kind=ErasureKind.ITEM, item_id=entity_id("ann", "Quarzborn"))
    assert await gone_after(stores, scope) == set()
