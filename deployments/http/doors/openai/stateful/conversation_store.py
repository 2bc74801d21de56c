"""Where conversations and responses are kept: as items of their person, which export and erasure know."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from memory.ports.stores.record import SystemOfRecord
from memory.values.base import utc_now
from memory.values.errors import NotFound
from memory.values.ids import new_id
from memory.values.items import ItemCollection, ItemOrder, ItemPlace, StoredItem

from ..speaking import known
from .items import Item, ItemIn, kept, place_of

_KEPT = ItemCollection.CONVERSATIONS
_CONVERSATIONS, _RESPONSES = ("conversations",), ("responses",)
_ITEMS_OF_RESPONSES = ("response_items",)
"""Where the id of an item names the response that has it."""
_PAGE = 256
_MAX_RESPONSES = 200
"""So many responses before one are part of what it continues."""


class ConversationNotFound(NotFound):
    """The person has no such conversation, or it has no such item."""


class ResponseNotFound(NotFound):
    """The person has no such response, or none with such an item."""


@dataclass(frozen=True)
class KeptResponse:
    """A response with what it answers.

    Args:
        response: As it was replied.
        input: The items of its request.
        session_id: The session in which its message was learned.
    """

    response: dict[str, Any]
    input: list[Item]
    session_id: str

    @property
    def items(self) -> list[Item]:
        """The items of its request, then those of the reply."""
        return [*self.input, *self.response["output"]]


class ConversationStore:
    """Conversations and responses in the system of record; every method acts for one person."""

    def __init__(self, record: SystemOfRecord) -> None:
        self._record = record

    async def create(self, items: Sequence[Item], metadata: dict[str, str], *, user_id: str) -> dict[str, Any]:
        """A new conversation with these items."""
        now = utc_now()
        id_ = f"conv_{new_id().replace('-', '')}"
        value = {"id": id_, "object": "conversation", "created_at": int(now.timestamp()), "metadata": metadata}
        await self._put([_stored(user_id, _CONVERSATIONS, id_, value, id_), *_items(user_id, id_, items)])
        return value

    async def get(self, id_: str, *, user_id: str) -> dict[str, Any]:
        """A conversation.

        Raises:
            ConversationNotFound: There is none.
        """
        found = await self._get(_CONVERSATIONS, id_, user_id=user_id)
        if found is None:
            raise ConversationNotFound(f"There is no conversation {id_!r}.")
        return found

    async def set_metadata(self, id_: str, metadata: dict[str, str], *, user_id: str) -> dict[str, Any]:
        """The conversation with other metadata.

        Raises:
            ConversationNotFound: There is none.
        """
        value = {**await self.get(id_, user_id=user_id), "metadata": metadata}
        await self._put([_stored(user_id, _CONVERSATIONS, id_, value, id_)])
        return value

    async def delete(self, id_: str, *, user_id: str) -> None:
        """Deletes a conversation with its items; what was learned of it stays.

        Raises:
            ConversationNotFound: There is none.
        """
        await self.get(id_, user_id=user_id)
        async with self._record.writing(user_id=user_id) as unit:
            while page := await unit.items.page(_KEPT, prefix=("items", id_), limit=_PAGE):
                await unit.items.delete([item.place for item in page])
            await unit.items.delete([ItemPlace(_KEPT, _CONVERSATIONS, id_)])
            await unit.commit()

    async def add(self, id_: str, items: Sequence[Item], *, user_id: str) -> None:
        """Appends items.

        Raises:
            ConversationNotFound: There is no such conversation.
        """
        await self.get(id_, user_id=user_id)
        await self._put(_items(user_id, id_, items))

    async def items(
        self, id_: str, *, user_id: str, limit: int, descending: bool = False, after: str | None = None
    ) -> list[Item]:
        """Items in the order in which they were added, or the reverse, behind the one of this id.

        Raises:
            ConversationNotFound: There is no such conversation or item.
        """
        await self.get(id_, user_id=user_id)
        behind = None if after is None else await self._item(id_, after, user_id=user_id)
        async with self._record.reading(user_id=user_id) as unit:
            order = ItemOrder.KEY_DESCENDING if descending else ItemOrder.KEY
            page = await unit.items.page(_KEPT, prefix=("items", id_), order=order, behind=behind, limit=limit)
        return [dict(item.value) for item in page]

    async def all_items(self, id_: str, *, user_id: str) -> list[Item]:
        """All items, first to last.

        Raises:
            ConversationNotFound: There is no such conversation.
        """
        found: list[Item] = []
        while page := await self.items(id_, user_id=user_id, limit=_PAGE, after=found[-1]["id"] if found else None):
            found += page
        return found

    async def item(self, id_: str, item_id: str, *, user_id: str) -> Item:
        """One item.

        Raises:
            ConversationNotFound: There is no such conversation or item.
        """
        return dict((await self._item(id_, item_id, user_id=user_id)).value)

    async def delete_item(self, id_: str, item_id: str, *, user_id: str) -> dict[str, Any]:
        """Deletes an item; the conversation.

        Raises:
            ConversationNotFound: There is no such conversation or item.
        """
        conversation = await self.get(id_, user_id=user_id)
        item = await self._item(id_, item_id, user_id=user_id)
        async with self._record.writing(user_id=user_id) as unit:
            await unit.items.delete([item.place])
            await unit.commit()
        return conversation

    async def keep_response(self, answered: KeptResponse, *, user_id: str) -> None:
        """Keeps a response."""
        id_, session_id = str(answered.response["id"]), answered.session_id
        value = {"response": answered.response, "input": answered.input, "session_id": session_id}
        places = _pointers(answered)
        async with self._record.writing(user_id=user_id) as unit:
            there = {pointer.key for pointer in await unit.items.get(places)}  # items that the request referred to
            keys = [place.key for place in places if place.key not in there]
            pointers = [_stored(user_id, _ITEMS_OF_RESPONSES, key, {"response": id_}, session_id) for key in keys]
            await unit.items.put([_stored(user_id, _RESPONSES, id_, value, session_id), *pointers])
            await unit.commit()

    async def response(self, id_: str, *, user_id: str) -> KeptResponse:
        """A response.

        Raises:
            ResponseNotFound: There is none.
        """
        found = await self._get(_RESPONSES, id_, user_id=user_id)
        if found is None:
            raise ResponseNotFound(f"There is no response {id_!r}.")
        return KeptResponse(**found)

    async def delete_response(self, id_: str, *, user_id: str) -> None:
        """Deletes a response; what was learned of it stays.

        Raises:
            ResponseNotFound: There is none.
        """
        answered = await self.response(id_, user_id=user_id)
        async with self._record.writing(user_id=user_id) as unit:
            pointers = await unit.items.get(_pointers(answered))
            own = [pointer.place for pointer in pointers if pointer.value["response"] == id_]
            await unit.items.delete([ItemPlace(_KEPT, _RESPONSES, id_), *own])
            await unit.commit()

    async def own_items(
        self, given: Sequence[ItemIn], *, user_id: str | None, there: Collection[str] = frozenset()
    ) -> list[Item]:
        """Items as they are kept; where one only refers to an item of a response, that item.

        Args:
            given: The items of a request.
            user_id: Whose responses; None for nobody, who has none.
            there: Ids of items that the request continues: they are not repeated.

        Raises:
            InvalidField: A message has no role, a reference has no id or is one of nobody.
            ResponseNotFound: No response has what is referred to.
        """
        own: list[Item] = []
        for item in given:
            if (id_ := item.reference) is None:
                own.append(kept(item))
            elif id_ not in there:
                own.append(await self._referenced_item(id_, user_id=known(user_id)))
        return own

    async def chain(self, id_: str, *, user_id: str) -> list[KeptResponse]:
        """A response and those that it continues, oldest first; an older one that was deleted ends the chain.

        Raises:
            ResponseNotFound: There is no such response.
        """
        found = [await self.response(id_, user_id=user_id)]
        while len(found) < _MAX_RESPONSES and (before := found[-1].response.get("previous_response_id")):
            value = await self._get(_RESPONSES, before, user_id=user_id)
            if value is None:
                break
            found.append(KeptResponse(**value))
        return found[::-1]

    async def _referenced_item(self, id_: str, *, user_id: str) -> Item:
        pointer = await self._get(_ITEMS_OF_RESPONSES, place_of(id_), user_id=user_id)
        items = (await self.response(pointer["response"], user_id=user_id)).items if pointer else []
        for item in items:
            if item["id"] == id_:
                return item
        raise ResponseNotFound(f"There is no item {id_!r}.")

    async def _item(self, id_: str, item_id: str, *, user_id: str) -> StoredItem:
        async with self._record.reading(user_id=user_id) as unit:
            found = await unit.items.get([ItemPlace(_KEPT, ("items", id_), place_of(item_id))])
        if not found or found[0].value.get("id") != item_id:
            raise ConversationNotFound(f"The conversation {id_!r} has no item {item_id!r}.")
        return found[0]

    async def _get(self, namespace: tuple[str, ...], key: str, *, user_id: str) -> dict[str, Any] | None:
        async with self._record.reading(user_id=user_id) as unit:
            found = await unit.items.get([ItemPlace(_KEPT, namespace, key)])
        return dict(found[0].value) if found else None

    async def _put(self, items: Sequence[StoredItem]) -> None:
        async with self._record.writing(user_id=items[0].user_id) as unit:
            await unit.items.put(items)
            await unit.commit()


def _pointers(answered: KeptResponse) -> list[ItemPlace]:
    return [ItemPlace(_KEPT, _ITEMS_OF_RESPONSES, place_of(item["id"])) for item in answered.items]


def _items(user_id: str, id_: str, items: Sequence[Item]) -> list[StoredItem]:
    return [_stored(user_id, ("items", id_), place_of(item["id"]), item, id_) for item in items]


def _stored(user_id: str, namespace: tuple[str, ...], key: str, value: dict[str, Any], session_id: str) -> StoredItem:
    now = utc_now()
    return StoredItem(
        user_id=user_id,
        collection=_KEPT,
        namespace=namespace,
        key=key,
        value=value,
        created_at=now,
        updated_at=now,
        session_id=session_id,
    )
