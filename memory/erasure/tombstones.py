"""Finished erasures as a file beside the record, so that a restored backup of the record brings nobody back."""

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import structlog

from ..ports.record import SystemOfRecord
from ..values.erasures import ErasureKind, Tombstone
from .requests import Digests

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


async def brought_back(record: SystemOfRecord, tombstones: Sequence[Tombstone], digests: Digests) -> AsyncIterator[str]:
    """The users that were erased as a whole and have entries in the log from before that.

    A user who came back by themselves has none.

    Raises:
        StoreUnavailable: The record cannot be read.
    """
    erased: Mapping[str, Tombstone] = {mark.user: mark for mark in tombstones if mark.kind is ErasureKind.USER}
    after: str | None = None
    while erased and (users := await record.backlog.users(after=after, limit=_PAGE)):
        after = users[-1]
        for user_id in users:
            mark = erased.get(digests.user(user_id))
            if mark is not None and await _has_entries_before(record, user_id, mark):
                yield user_id


async def _has_entries_before(record: SystemOfRecord, user_id: str, mark: Tombstone) -> bool:
    async with record.reading(user_id=user_id) as unit:
        oldest = await unit.log.page(limit=1)
        entities = [] if oldest else await unit.entities.page(limit=_PAGE)
    times = [entry.created_at for entry in oldest] + [entity.first_mentioned for entity in entities]
    return any(at < mark.erased_at for at in times)
