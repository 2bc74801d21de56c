"""Finds what a scope names: log entries, and items by their ids."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from ..ports.stores.record import UnitOfWork
from ..ports.stores.repositories import read_pages
from ..values.governance.decisions import ANONYMISED_TEXT
from ..values.governance.erasures import ErasureKind, ErasureScope
from ..values.ids import reply_id
from ..values.records import Resource
from ..values.text import normalise

MESSAGES_AT_ONCE = 500
"""Log entries that are erased in one transaction."""
_PAGE = 256
_LATIN = re.compile(r"[0-9a-z]")
T = TypeVar("T")


@dataclass
class Selection:
    """What is to be erased next, without what follows from it.

    Args:
        scope: What was asked for, with the end of its period.
        messages: Log entries by id, at most `MESSAGES_AT_ONCE`; those of an item with the replies to them.
        items: Ids of entities, relations and facts.
        names: The names of an entity that is to be erased, normalised.
        words: What a message says that mentions the item, normalised: names, or the object of a fact that was never
            logged.
        placeholders: Ids of those messages and items that stay without what they said (004 §7.3).
    """

    scope: ErasureScope
    messages: dict[str, Resource] = field(default_factory=dict)
    items: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    placeholders: set[str] = field(default_factory=set)

    def holds(self, *times: datetime) -> bool:
        """Whether the scope is a period in which all these times lie."""
        return self.scope.kind is ErasureKind.PERIOD and all(map(self.scope.holds, times))

    def holds_message(self, resource: Resource) -> bool:
        """Whether a log entry is to be erased, now or in a later step."""
        in_session = self.scope.kind is ErasureKind.SESSION and resource.session_id == self.scope.session_id
        return resource.resource_id in self.messages or in_session or self.holds(resource.created_at)

    def leave_placeholders(self) -> None:
        """Lets what is selected stay without what it said; a message that is a placeholder already needs nothing."""
        self.messages = {id_: message for id_, message in self.messages.items() if message.content != ANONYMISED_TEXT}
        self.placeholders |= self.messages.keys() | self.items


async def select(unit: UnitOfWork, scope: ErasureScope, *, words: Iterable[str] = ()) -> Selection:
    """The next log entries of a scope, and with the last of them the items that it names.

    Args:
        unit: The record, or the journal, which has log entries alone.
        scope: What to erase; the end of a period is given.
        words: The `words` that were selected from the record, for the journal, which has no items.
    """
    selection = Selection(scope, words=set(words))
    if scope.session_id is not None:
        await _add(selection, unit.log.session(scope.session_id, limit=MESSAGES_AT_ONCE))
    elif scope.item_id is not None:
        await _select_item(unit, selection, scope.item_id)
    else:
        await _add_where(unit, selection, lambda resource: scope.holds(resource.created_at))
    return selection


async def pages(read: Callable[..., Awaitable[list[T]]], cursor: Callable[[T], Any]) -> AsyncIterator[T]:
    """What a repository's method for pages gives, one by one; `cursor` is what the next page begins behind."""
    async for page in read_pages(read, cursor, limit=_PAGE):
        for value in page:
            yield value


def says(text: str, name: str) -> bool:
    """Whether a text holds a name, both normalised; a name of Latin letters or digits stands between word borders."""
    start = text.find(name) if name else -1
    while start >= 0:
        before, after = text[start - 1 : start], text[start + len(name) : start + len(name) + 1]
        if not (_LATIN.match(before) and _LATIN.match(name)) and not (_LATIN.match(after) and _LATIN.match(name[-1])):
            return True
        start = text.find(name, start + 1)
    return False


async def _select_item(unit: UnitOfWork, selection: Selection, item_id: str) -> None:
    for message in (await unit.log.get([item_id, *selection.scope.more]))[:MESSAGES_AT_ONCE]:
        selection.messages[message.resource_id] = message
    for memory in await unit.memories.get([item_id]):
        await _add(selection, unit.log.get([memory.resource_id]))
        selection.items.add(item_id)
    evidence: list[str | None] = []
    for entity in await unit.entities.get([item_id]):
        selection.names.update(map(normalise, entity.names))
        evidence += [memory.resource_id for memory in await unit.memories.mentioning(item_id)]
        selection.items.add(item_id)
    for relation in await unit.relations.get([item_id]):
        evidence.append(relation.evidence)
        selection.items.add(item_id)
    for fact in await unit.facts.get_many([item_id]):
        evidence += [fact.resource_id, *fact.evidence]
        if not fact.resource_id:
            selection.words.add(normalise(fact.object))
        selection.items.add(item_id)
    if selection.scope.messages:
        sources, words = set(evidence), selection.names | selection.words

        def mentions(resource: Resource) -> bool:
            text = normalise(resource.content)
            return resource.resource_id in sources or any(says(text, word) for word in words)

        await _add_where(unit, selection, mentions)
    replies = [reply_id(message.user_id, message.session_id, id_) for id_, message in selection.messages.items()]
    if len(selection.messages) == MESSAGES_AT_ONCE:
        # The item goes with the last of its messages: they are found by its names.
        selection.items.clear()
        selection.names.clear()
    await _add(selection, unit.log.get(replies))
    if selection.scope.anonymise:
        selection.leave_placeholders()


async def _add(selection: Selection, found: Awaitable[Iterable[Resource]]) -> None:
    selection.messages |= {resource.resource_id: resource for resource in await found}


async def _add_where(unit: UnitOfWork, selection: Selection, is_meant: Callable[[Resource], bool]) -> None:
    async for resource in pages(unit.log.page, lambda resource: resource.sequence):
        if len(selection.messages) == MESSAGES_AT_ONCE:
            return
        if is_meant(resource):
            selection.messages[resource.resource_id] = resource
