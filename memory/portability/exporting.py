"""Writes everything of a user as lines, from one consistent view of the record."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any

from pydantic_core import to_json

from ..ports.stores.items import item_pages
from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..ports.stores.repositories import read_pages
from ..ports.stores.sessions import SessionStore
from ..values.access.identity import app_and_user, shown_user
from ..values.items import ItemCollection
from ..values.understanding.dialogue import Session
from .lines import Digest, Header, Item, ItemType, to_line

PAGE = 256
_LARGE = 16
"""Changes or stored items of a page: one may be large."""


async def export_user(
    record: SystemOfRecord, sessions: SessionStore, *, user_id: str, version: str, now: datetime
) -> AsyncIterator[bytes]:
    """The lines of a user's export, in pages; equal memory has equal lines but for the header.

    Relations with an entity that is gone are left out: nothing walks them. The view of the record stays open until the
    last page is taken, so take them without waiting for a slow reader. Sessions are read after it; those of which
    nothing is left are not in the file.

    Args:
        record: What is exported.
        sessions: The sessions of the log entries' ids.
        user_id: The user.
        version: That of Jiyi, for the header.
        now: The time, for the header.

    Raises:
        StoreUnavailable: The record or the sessions cannot be read; what was given so far is no whole export.
    """
    digest = Digest()
    own_id = shown_user(user_id)
    yield to_line(Header(jiyi=version, app=app_and_user(user_id)[0], user_id=own_id, created_at=now))
    stored, shown = (b'"user_id":' + to_json(id_) for id_ in (user_id, own_id))

    def lines_of(items: Sequence[Item]) -> bytes:
        # Quotes in a text are escaped, so this is the field and nothing else.
        lines = [item.to_line().replace(stored, shown) for item in items]
        for item, line in zip(items, lines, strict=True):
            digest.add(item.type, line)
        return b"".join(lines)

    session_ids: dict[str, None] = {}
    async with record.reading(user_id=user_id) as unit:
        async for items in _pages(unit, now):
            if items[0].type is ItemType.RESOURCE:
                session_ids.update(dict.fromkeys(item.value.session_id for item in items))
            yield await asyncio.to_thread(lines_of, items)
    for session_id in sorted(session_ids):
        session = await sessions.load(session_id, user_id=user_id)
        if has_anything(session):
            yield lines_of([Item(ItemType.SESSION, session)])
    yield to_line(digest.end())


def has_anything(session: Session) -> bool:
    """Whether a session is more than the empty one that starts when it is first asked for."""
    context = session.context
    return bool(
        session.turns
        or context.mentioned_entities
        or context.last_referred_entity
        or context.coreference_history
        or context.deixis
        or context.to_forget
    )


async def _pages(unit: UnitOfWork, now: datetime) -> AsyncIterator[list[Item]]:
    """Pages of items of one type, none empty, in the order of the file."""
    async for resources in read_pages(unit.log.page, lambda resource: resource.sequence, limit=PAGE):
        unlearned = await unit.log.list_unextracted(after=resources[0].sequence - 1, limit=len(resources))
        waiting = {resource.resource_id for resource in unlearned}
        yield [Item(ItemType.RESOURCE, resource, learned=resource.resource_id not in waiting) for resource in resources]
    async for entities in read_pages(unit.entities.oldest, lambda entity: entity.entity_id, limit=PAGE):
        yield _items(ItemType.ENTITY, entities)
    async for relations in read_pages(unit.relations.page, lambda relation: relation.relation_id, limit=PAGE):
        ends = {end for relation in relations for end in (relation.source_entity_id, relation.target_entity_id)}
        known = {entity.entity_id for entity in await unit.entities.get(sorted(ends))}
        walked = [relation for relation in relations if {relation.source_entity_id, relation.target_entity_id} <= known]
        if walked:
            yield _items(ItemType.RELATION, walked)
    async for memories in read_pages(unit.memories.oldest, lambda memory: memory.memory_id, limit=PAGE):
        yield _items(ItemType.MEMORY, memories)
    async for facts in read_pages(unit.facts.page, lambda fact: fact.fact_id, limit=PAGE):
        yield _items(ItemType.FACT, facts)
    for type_, values in (
        (ItemType.CATEGORY, await unit.categories.list()),
        (ItemType.CATEGORY_ACCESS, await unit.category_accesses.list()),
        (ItemType.EDGE, await unit.graph.list_all()),
    ):
        if values:
            yield _items(type_, values)
    async for changes in read_pages(unit.changes.page, lambda change: change.sequence, limit=_LARGE):
        yield _items(ItemType.CHANGE, changes)
    for collection in ItemCollection:
        async for stored in item_pages(unit.items, collection, limit=_LARGE):
            if there := [item for item in stored if item.is_there(now)]:
                yield _items(ItemType.STORED_ITEM, there)


def _items(type_: ItemType, values: Sequence[Any]) -> list[Item]:
    return [Item(type_, value) for value in values]
