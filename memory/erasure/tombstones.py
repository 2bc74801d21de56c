"""Finished erasures as a file beside the record, so that a restored backup of the record brings nobody back."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path

import structlog

from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..values.governance.decisions import ANONYMISED_TEXT, ANONYMISED_VALUE
from ..values.governance.erasures import WHOLE_USER, ErasureKind, ErasureScope, Tombstone
from .requests import Digests
from .selection import pages

_PAGE = 256
_log = structlog.get_logger(__name__)


class TombstoneFile:
    """Tombstones as JSON lines, appended when an erasure is done; nothing in them says whose it was.

    Args:
        path: The file; it is made for this user of the machine alone.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Tombstone]:
        """All tombstones; a line that a crash cut off is left out."""
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        found = []
        for line in filter(None, lines):
            try:
                found.append(Tombstone.model_validate_json(line))
            except ValueError:
                _log.warning("tombstone_unreadable")
        return found

    def add(self, tombstones: Sequence[Tombstone]) -> None:
        """Appends tombstones; one that is there twice does no harm."""
        self.path.touch(mode=0o600)
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(f"\n{tombstone.model_dump_json()}\n" for tombstone in tombstones)


async def brought_back(
    record: SystemOfRecord, tombstones: Sequence[Tombstone], digests: Digests
) -> AsyncIterator[tuple[str, ErasureScope]]:
    """What was erased and is there again from before that: users, and scopes of users.

    A user who came back by themselves has no entries from before, and neither has a session that was begun anew.

    Raises:
        StoreUnavailable: The record cannot be read.
    """
    erased: dict[str, list[Tombstone]] = {}
    for mark in tombstones:
        erased.setdefault(mark.user, []).append(mark)
    after: str | None = None
    while erased and (users := await record.backlog.users(after=after, limit=_PAGE)):
        after = users[-1]
        for user_id in users:
            for scope in await _scopes_there(record, user_id, erased.get(digests.user(user_id), ()), digests):
                yield user_id, scope


async def _scopes_there(
    record: SystemOfRecord, user_id: str, marks: Sequence[Tombstone], digests: Digests
) -> list[ErasureScope]:
    if not marks:
        return []
    async with record.reading(user_id=user_id) as unit:
        for mark in marks:
            if mark.kind is ErasureKind.USER and await _has_entries_before(unit, mark):
                return [WHOLE_USER]
        parts = [mark for mark in marks if mark.kind is not ErasureKind.USER]
        return await _parts_there(unit, user_id, parts, digests) if parts else []


async def _has_entries_before(unit: UnitOfWork, mark: Tombstone) -> bool:
    oldest = await unit.log.page(limit=1)
    entities = [] if oldest else await unit.entities.page(limit=_PAGE)
    times = [entry.created_at for entry in oldest] + [entity.first_mentioned for entity in entities]
    return any(at < mark.erased_at for at in times)


async def _parts_there(
    unit: UnitOfWork, user_id: str, marks: Sequence[Tombstone], digests: Digests
) -> list[ErasureScope]:
    """The scopes, but whole users, of which something is there from before; each once."""
    found: dict[ErasureScope, None] = {}
    targets = {(mark.kind, name): mark for mark in marks for name in (mark.target, *mark.more) if name is not None}
    periods = [mark for mark in marks if mark.kind is ErasureKind.PERIOD]

    def check(kind: ErasureKind, name: str, at: datetime, *, is_placeholder: bool = False) -> None:
        mark = targets.get((kind, digests.part(kind, user_id, name)))
        if mark is not None and at < mark.erased_at and not (mark.anonymise and is_placeholder):
            field = "session_id" if kind is ErasureKind.SESSION else "item_id"
            scope = {"kind": kind, field: name, "messages": mark.messages, "anonymise": mark.anonymise}
            found[ErasureScope.model_validate(scope)] = None

    def check_period(at: datetime) -> None:
        for mark in periods:
            until = mark.until or mark.erased_at
            scope = ErasureScope(kind=ErasureKind.PERIOD, since=mark.since, until=until)
            if scope.holds(at):
                found[scope] = None

    async for resource in pages(unit.log.page, lambda resource: resource.sequence):
        check(ErasureKind.SESSION, resource.session_id, resource.created_at)
        is_placeholder = resource.content == ANONYMISED_TEXT
        check(ErasureKind.ITEM, resource.resource_id, resource.created_at, is_placeholder=is_placeholder)
        check_period(resource.created_at)
    async for memory in pages(unit.memories.page, lambda memory: memory.memory_id):
        check(ErasureKind.ITEM, memory.memory_id, memory.created_at, is_placeholder=memory.is_anonymised)
    async for entity in pages(unit.entities.page, lambda entity: entity.entity_id):
        check(ErasureKind.ITEM, entity.entity_id, entity.first_mentioned)
    async for relation in pages(unit.relations.page, lambda relation: relation.relation_id):
        check(ErasureKind.ITEM, relation.relation_id, relation.created_at)
    async for fact in pages(unit.facts.page, lambda fact: fact.fact_id):
        check(ErasureKind.ITEM, fact.fact_id, fact.recorded_at, is_placeholder=fact.object == ANONYMISED_VALUE)
    return [*found]
