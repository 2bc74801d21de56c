"""The log of changes to one user's memory (DESIGN §4, `AuditRecord`)."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime

from ..values.changes import Change, ChangeKind

Changes = list[Change]  # a class with a method `list` cannot spell the type inside


class ChangeLog(ABC):
    """Changes are appended in the transaction that makes them, and never changed but for `undone_at`."""

    @abstractmethod
    async def append(self, changes: Sequence[Change]) -> None:
        """Appends in order; an id that is there already is skipped."""

    @abstractmethod
    async def get(self, change_ids: Sequence[str]) -> Changes:
        """The changes that exist, in the order of the ids."""

    @abstractmethod
    async def list(
        self,
        *,
        limit: int = 100,
        before: int | None = None,
        subject: str | None = None,
        kind: ChangeKind | None = None,
    ) -> Changes:
        """The latest changes (with `sequence < before`, where given), of a subject, of a kind or all; latest first."""

    @abstractmethod
    async def mark_undone(self, change_id: str, *, at: datetime | None) -> bool:
        """Sets `undone_at`, or clears it where a change is done again; whether there is such a change."""
