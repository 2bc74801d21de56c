"""Which items go with what is erased: documents that callers and doors keep, which may repeat it (`memory.items`)."""

from collections.abc import Iterator

from pydantic import JsonValue

from ..ports.stores.items import ItemRepository, item_pages
from ..values.governance.erasures import ErasureKind
from ..values.items import OPAQUE_COLLECTIONS, ItemCollection, ItemPlace, StoredItem
from ..values.text import normalise
from .selection import Selection, says

_PAGE = 64


async def items_that_repeat(items: ItemRepository, selection: Selection) -> list[ItemPlace]:
    """The items that were put in an erased period, belong to an erased session, or repeat what is erased.

    An item repeats an erased message where it has its whole text as a text of its own, and an erased entity or fact,
    whose messages go too, where one of its texts says it. States of graphs cannot be read: they go with any message of
    their session.
    """
    repeats = _Repeats(selection)
    return [
        item.place
        for collection in ItemCollection
        async for page in item_pages(items, collection, limit=_PAGE)
        for item in page
        if repeats.is_in(item)
    ]


class _Repeats:
    def __init__(self, selection: Selection) -> None:
        scope = selection.scope
        messages = selection.messages.values()
        self._selection = selection
        self._session = scope.session_id if scope.kind is ErasureKind.SESSION else None
        self._touched = {message.session_id for message in messages}
        self._texts = {normalise(message.content) for message in messages} - {""}
        self._words = selection.names | selection.words if scope.messages else set[str]()

    def is_in(self, item: StoredItem) -> bool:
        if self._selection.holds(item.updated_at):
            return True
        if self._session is not None and item.session_id == self._session:
            return True
        if item.collection is ItemCollection.PERSONAS and self._was_told(item):
            return True
        if item.collection in OPAQUE_COLLECTIONS:
            return item.session_id in self._touched
        if not self._texts and not self._words:
            return False
        return any(
            text in self._texts or any(says(text, word) for word in self._words)
            for text in map(normalise, _texts(item.value))
        )

    def _was_told(self, item: StoredItem) -> bool:
        """Whether a trait was told by an erased message."""
        sources = item.value.get("sources")
        return isinstance(sources, list) and any(source in self._selection.messages for source in sources)


def _texts(value: JsonValue) -> Iterator[str]:
    """Every text of a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for entry in value:
            yield from _texts(entry)
    elif isinstance(value, dict):
        for entry in value.values():
            yield from _texts(entry)
