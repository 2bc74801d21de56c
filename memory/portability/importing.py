"""Writes a file into a user's memory: checked from end to end first, then page by page, each page whole or not at all.

One transaction for all would keep everybody else from writing for as long as it takes. So a file is refused before
anything is written, and what the store can still do to it (it may go away) leaves whole pages, which the same import
finds again: an item that is there already is left as it is.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import datetime
from itertools import groupby, takewhile
from typing import Any, BinaryIO

from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..ports.stores.sessions import CONTEXT_TTL, HISTORY_TTL, SessionStore
from ..ports.stores.vectors import Collection
from ..values.base import UserId, Value
from ..values.entities import Entity
from ..values.errors import Conflict, InvalidField
from ..values.ids import memory_id
from ..values.understanding.dialogue import Session
from .checking import CheckedFile, Line, check_file, read_lines
from .exporting import PAGE, has_anything
from .lines import Item, ItemType

_PAGE_BYTES = 4_194_304
_LATER = {
    "sequence": 0,
    "access_count": 0,
    "accessed_at": None,
    "last_accessed_at": None,
    "understanding": None,
    "expires_at": None,
    "vectors": None,
}
"""Fields that do not say what an item is: stores number them, and use changes them."""


class Imported(Value):
    """What an import did: items by type that it wrote, and that were there already.

    Args:
        user_id: The user whose memory it is now.
        from_user_id: The user of the file, by their own id.
        imported: Items that were written.
        unchanged: Items that were there, and sessions that are in use or have ended.
    """

    user_id: UserId
    from_user_id: str
    imported: dict[ItemType, int]
    unchanged: dict[ItemType, int]


async def import_user(
    record: SystemOfRecord,
    sessions: SessionStore,
    file: BinaryIO,
    *,
    user_id: str,
    from_user_id: str | None = None,
    now: datetime,
) -> Imported:
    """Writes an export; what is saved waits in the outbox for the indexer, and unlearned log entries for the learner.

    The learner may work meanwhile: log entries that wait for it come last, when all that it builds on is there.

    Args:
        record: Where it is written.
        sessions: Where the sessions are written that have not ended.
        file: The export; a file that can be read again.
        user_id: Whose memory it becomes.
        from_user_id: The user of the file, where that is another one: both are then named, and none by mistake.
        now: The time, by which sessions have ended.

    Raises:
        InvalidField: The file is no whole export, or of another user than named; nothing was written.
        Conflict: The id of an item belongs to another one of the user's; nothing was written, unless that came about
            during the import.
        StoreUnavailable: Some pages may be written; import it again.
    """
    checked = await asyncio.to_thread(check_file, file, user_id=user_id)
    _check_user(checked, user_id, from_user_id)
    async for page in _pages(file, checked):
        async with record.reading(user_id=user_id) as unit:
            await _missing(unit, page)
    written = _Counts()
    for is_last in (False, True):
        async for page in _pages(file, checked, waiting=is_last):
            if page[0][1].type is ItemType.SESSION:
                for _, item in page:
                    written.add(item.type, new=int(await _write_session(sessions, item.value, user_id, now)))
                continue
            async with record.writing(user_id=user_id) as unit:
                new = await _missing(unit, page)
                await _write(unit, new)
                await unit.commit()
            if is_last:  # memories learned from these were indexed without them
                ids = [memory_id(user_id, item.item_id) for _, item in page if item.learned and item.value.learn]
                await record.backlog.requeue(Collection.MEMORIES, ids, user_id=user_id)
            written.add(page[0][1].type, new=len(new), of=len(page))
    return Imported(
        user_id=user_id,
        from_user_id=checked.header.user_id,
        imported=written.new,
        unchanged=written.unchanged,
    )


class _Counts:
    def __init__(self) -> None:
        self.new: dict[ItemType, int] = {}
        self.unchanged: dict[ItemType, int] = {}

    def add(self, type_: ItemType, *, new: int, of: int = 1) -> None:
        for counts, count in ((self.new, new), (self.unchanged, of - new)):
            if count:
                counts[type_] = counts.get(type_, 0) + count


Page = Sequence[tuple[int, Item]]
"""Items of one type with the numbers of their lines; not empty."""


def _check_user(checked: CheckedFile, user_id: str, from_user_id: str | None) -> None:
    of = checked.header.user_id
    if checked.source != user_id and from_user_id != of:
        raise InvalidField(
            f"from_user_id: the file holds the memory of {of!r}; name that user to give it to another",
            field="from_user_id",
            allowed=of,
        )


async def _pages(file: BinaryIO, checked: CheckedFile, *, waiting: bool | None = None) -> AsyncIterator[Page]:
    """The pages of a file, as items of the user who gets it.

    Args:
        file: The file.
        checked: What was found in it.
        waiting: Of the log entries from the first that waits for the learner on: True for those alone, False for all
            but those, None for everything.
    """
    if waiting and checked.unlearned is None:
        return
    pages = _read_pages(file, checked, _choice(checked, waiting), begin=checked.unlearned if waiting else None)
    while page := await asyncio.to_thread(next, pages, None):
        yield page


def _choice(checked: CheckedFile, waiting: bool | None) -> Callable[[Line, Item], bool]:
    first = checked.unlearned.number if checked.unlearned else None

    def is_chosen(line: Line, item: Item) -> bool:
        is_waiting = first is not None and item.type is ItemType.RESOURCE and line.number >= first
        return waiting is None or waiting is is_waiting

    return is_chosen


def _read_pages(
    file: BinaryIO, checked: CheckedFile, is_chosen: Callable[[Line, Item], bool], *, begin: Line | None
) -> Iterator[Page]:
    lines: Iterator[tuple[Line, Item]] = (
        (line, line.content) for line in read_lines(file, begin) if isinstance(line.content, Item)
    )
    if begin is not None:
        lines = takewhile(lambda entry: is_chosen(*entry), lines)
    chosen = (entry for entry in lines if is_chosen(*entry))
    for _, group in groupby(chosen, key=lambda entry: entry[1].type):
        page: list[tuple[int, Item]] = []
        size = 0
        for line, item in group:
            if page and (len(page) == PAGE or size + len(line.text) > _PAGE_BYTES):
                yield page
                page, size = [], 0
            page.append((line.number, item if checked.renaming is None else checked.renaming.renamed(item)))
            size += len(line.text)
        yield page


async def _missing(unit: UnitOfWork, page: Page) -> Page:
    """The items that are not there yet.

    Raises:
        Conflict: Another item of the user has the id of one.
    """
    type_ = page[0][1].type
    if type_ is ItemType.SESSION:
        return ()
    existing = await _existing(unit, type_, [item for _, item in page])
    new = []
    for number, item in page:
        found = existing.get(item.item_id)
        if found is None or (_is_untouched_seed(found) and not _is_untouched_seed(item.value)):
            new.append((number, item))
        elif not _is_same(found, item.value) and not _is_untouched_seed(item.value):
            raise _taken(number, item)
    return new


def _taken(number: int, item: Item) -> Conflict:
    return Conflict(f"line {number}: {item.type.value} {item.item_id!r} is there already and is not the same")


def _is_same(found: Value, imported: Value) -> bool:
    update = {name: value for name, value in _LATER.items() if name in type(found).model_fields}
    return found.model_copy(update=update) == imported.model_copy(update=update)


def _is_untouched_seed(value: Value) -> bool:
    """Whether it is an entity that every memory begins with, and that was never mentioned."""
    return isinstance(value, Entity) and value.is_unseen_seed


async def _existing(unit: UnitOfWork, type_: ItemType, items: Sequence[Item]) -> dict[str, Any]:
    """The user's items with the ids of these."""
    ids = [item.item_id for item in items]
    found: Sequence[Any]
    match type_:
        case ItemType.RESOURCE:
            found = await unit.log.get(ids)
        case ItemType.ENTITY:
            found = await unit.entities.get(ids)
        case ItemType.RELATION:
            found = await unit.relations.get(ids)
        case ItemType.MEMORY:
            found = await unit.memories.get(ids)
        case ItemType.FACT:
            found = await unit.facts.get_many(ids)
        case ItemType.CATEGORY:
            found = await unit.categories.list()
        case ItemType.CATEGORY_ACCESS:
            found = await unit.category_accesses.list()
        case ItemType.EDGE:
            found = await unit.graph.list_all()
        case ItemType.TYPED_MEMORY:
            found = await unit.typed_memories.get(ids)
        case ItemType.STORED_ITEM:
            found = await unit.items.get([item.value.place for item in items])
        case _:
            found = await unit.changes.get(ids)
    return {Item(type_, value).item_id: value for value in found}


async def _write(unit: UnitOfWork, page: Page) -> None:
    """Writes items of one type.

    Raises:
        Conflict: Another category has the name of one, or another edge says the same as one.
    """
    values = [item.value for _, item in page]
    match page[0][1].type if page else None:
        case ItemType.RESOURCE:
            await unit.log.append(values)
            await unit.log.mark_learned([item.item_id for _, item in page if item.learned])
        case ItemType.ENTITY:
            await unit.entities.save(values)
        case ItemType.RELATION:
            await unit.relations.store(values)
        case ItemType.MEMORY:
            await unit.memories.save(values)
        case ItemType.FACT:
            await unit.facts.create_many(values)
        case ItemType.CATEGORY:
            for number, item in page:
                if not await unit.categories.create(item.value):
                    raise _taken(number, item)
        case ItemType.CATEGORY_ACCESS:
            await unit.category_accesses.create_many(values)
        case ItemType.EDGE:
            stored = await unit.graph.create_many(values)
            for (number, item), edge_id in zip(page, stored, strict=True):
                if edge_id != item.item_id:
                    raise _taken(number, item)
        case ItemType.TYPED_MEMORY:
            await unit.typed_memories.save(values)
        case ItemType.CHANGE:
            await unit.changes.append(values)
        case ItemType.STORED_ITEM:
            await unit.items.put(values)


async def _write_session(sessions: SessionStore, session: Session, user_id: str, now: datetime) -> bool:
    """Writes a session that has not ended and is not in use; whether it was written."""
    context = session.context
    if context.last_activity + CONTEXT_TTL <= now:
        return False
    if has_anything(await sessions.load(context.session_id, user_id=user_id)):
        return False
    turns = session.turns if context.last_activity + HISTORY_TTL > now else ()
    await sessions.append(context.session_id, user_id=user_id, turns=turns)
    await sessions.store_context(context, user_id=user_id)
    return True
