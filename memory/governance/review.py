"""The review of one user's memory: archives what is rarely used, marks what may be out of date (001 §4)."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self

import structlog
from pydantic import Field
from typing_extensions import override

from ..entities.statuses import Reviewable, ReviewableKind, get_reviewable, id_of, kind_of, page_of, set_status
from ..jobs.user_job import JobReport
from ..ports.stores.record import SystemOfRecord
from ..values.base import UserId, Value
from ..values.entities import Entity, EntityStatus
from ..values.governance.changes import ChangeActor, ChangeKind
from ..values.predicates import LASTING, predicate_of

LOW_HOTNESS = "低熱度 / rarely used"
STALE = "長期未更新但持續訪問 / not updated for long, yet still used"
_log = structlog.get_logger(__name__)
MAX_REPORTED = 200
"""So many items of a review are listed."""
_PAGE = 256


class Verdict(StrEnum):
    """What a review decides about an item; most items get NONE and stay as they are."""

    ARCHIVE = "archive"
    REVIEW = "review"
    KEEP = "keep"
    NONE = "none"


_CHANGES = {Verdict.ARCHIVE: (ChangeKind.ARCHIVE, LOW_HOTNESS), Verdict.REVIEW: (ChangeKind.REVIEW, STALE)}
"""The change, and its reason, that carries out a verdict."""


class ReviewRules(Value):
    """Thresholds of 001 §4.1.

    Args:
        archive_max_access: An item with at most this many uses is archived …
        archive_after_days: … if it was not created, mentioned or accessed within this many days.
        stale_after_days: An item that nobody has mentioned for this many days is marked for review …
        still_accessed_within_days: … if it was retrieved within this many days.
        keep_above_access: An item with more uses than this is never archived.
    """

    archive_max_access: int = Field(default=3, ge=0)
    archive_after_days: float = Field(default=90, gt=0)
    stale_after_days: float = Field(default=180, gt=0)
    still_accessed_within_days: float = Field(default=90, gt=0)
    keep_above_access: int = Field(default=10, ge=0)

    def is_low_hotness(self, item: Reviewable, now: datetime) -> bool:
        """Whether the item is rarely used and old.

        001 counts the days since the item was created. Here mentions, accesses and restoring count as well: otherwise
        the next review would archive again what somebody has just restored.
        """
        oldest_kept = now - timedelta(days=self.archive_after_days)
        return use_count(item) <= self.archive_max_access and last_used_at(item) < oldest_kept

    def is_potentially_stale(self, item: Reviewable, now: datetime) -> bool:
        """Whether the item is still retrieved although nobody has mentioned it for long."""
        return (
            item.accessed_at is not None
            and last_mentioned_at(item) < now - timedelta(days=self.stale_after_days)
            and item.accessed_at >= now - timedelta(days=self.still_accessed_within_days)
        )

    def is_kept(self, item: Reviewable) -> bool:
        """Whether the item is used so often that it is never archived."""
        return use_count(item) > self.keep_above_access

    def verdict(self, item: Reviewable, now: datetime) -> Verdict:
        """What to do about an item; only active ones are archived or marked.

        Preloaded entities that were never mentioned are left alone.
        """
        if item.status.value != EntityStatus.ACTIVE.value or (isinstance(item, Entity) and item.is_unseen_seed):
            return Verdict.NONE
        if self.is_low_hotness(item, now) and not self.is_kept(item) and not _is_lasting(item):
            return Verdict.ARCHIVE
        if self.is_potentially_stale(item, now):
            return Verdict.REVIEW
        return Verdict.KEEP if self.is_kept(item) else Verdict.NONE


def _is_lasting(item: Reviewable) -> bool:
    """Whether age makes it no less true: an allergy is not archived because nobody has asked about it."""
    return not isinstance(item, Entity) and predicate_of(item.entity_type) in LASTING


def use_count(item: Reviewable) -> int:
    """001's access_count; for an entity its mentions count as well."""
    return item.access_count + (item.mention_count if isinstance(item, Entity) else 0)


def last_mentioned_at(item: Reviewable) -> datetime:
    """When the item was last mentioned or its value last given: 001's updated_at."""
    return item.last_mentioned if isinstance(item, Entity) else item.updated_at


def last_used_at(item: Reviewable) -> datetime:
    """When the item was last created, mentioned, retrieved or restored."""
    created = item.first_mentioned if isinstance(item, Entity) else item.created_at
    return max(created, last_mentioned_at(item), item.accessed_at or created)


class ReviewedItem(Value):
    """An item that a review archived or marked, or would have in a dry run."""

    user_id: UserId
    kind: ReviewableKind
    item_id: str
    value: str
    verdict: Verdict
    reason: str

    @classmethod
    def of(cls, item: Reviewable, verdict: Verdict) -> "ReviewedItem":
        """Describes an item and the verdict on it."""
        return cls(
            user_id=item.user_id,
            kind=kind_of(item),
            item_id=id_of(item),
            value=item.entity_value if isinstance(item, Entity) else f"{item.entity_type}: {item.entity_value}",
            verdict=verdict,
            reason=_CHANGES[verdict][1],
        )


class ReviewReport(JobReport):
    """What a review did, or would have done in a dry run.

    Args:
        checked: Number of entities and typed memories checked.
        archived: Number of items archived.
        marked: Number of items marked for a person to look at.
        kept: Number of items that are used too often to be archived.
        items: The first of the items archived or marked.
    """

    checked: int = 0
    archived: int = 0
    marked: int = 0
    kept: int = 0
    items: tuple[ReviewedItem, ...] = ()

    @property
    @override
    def is_change(self) -> bool:
        return self.archived + self.marked > 0

    @override
    def plus(self, other: Self) -> "ReviewReport":
        """The sum of two reports, with at most `MAX_REPORTED` items."""
        return ReviewReport(
            users=self.users + other.users,
            checked=self.checked + other.checked,
            archived=self.archived + other.archived,
            marked=self.marked + other.marked,
            kept=self.kept + other.kept,
            items=(*self.items, *other.items)[:MAX_REPORTED],
        )


async def review_user(
    record: SystemOfRecord, user_id: str, *, rules: ReviewRules, now: datetime, dry_run: bool = False
) -> ReviewReport:
    """Reviews one user's entities and typed memories, one transaction per page; repeating it changes nothing more.

    Raises:
        StoreUnavailable: The record is down; finished pages stay reviewed.
    """
    report = ReviewReport(users=1)
    async for page in _pages(record, user_id):
        verdicts = [(item, rules.verdict(item, now)) for item in page]
        pending = [(item, verdict) for item, verdict in verdicts if verdict in _CHANGES]
        done = pending if dry_run or not pending else await _apply(record, user_id, pending, rules, now)
        report = report.plus(
            ReviewReport(
                checked=len(page),
                archived=sum(verdict is Verdict.ARCHIVE for _, verdict in done),
                marked=sum(verdict is Verdict.REVIEW for _, verdict in done),
                kept=sum(verdict is Verdict.KEEP for _, verdict in verdicts),
                items=tuple(ReviewedItem.of(item, verdict) for item, verdict in done),
            )
        )
    return report


async def _apply(
    record: SystemOfRecord, user_id: str, pending: list[tuple[Reviewable, Verdict]], rules: ReviewRules, now: datetime
) -> list[tuple[Reviewable, Verdict]]:
    """Carries out the verdicts that still hold: an item may have been used since its page was read."""
    done: list[tuple[Reviewable, Verdict]] = []
    async with record.writing(user_id=user_id) as unit:
        for item, verdict in pending:
            current = await get_reviewable(unit, kind_of(item), id_of(item))
            if rules.verdict(current, now) is verdict:
                kind, reason = _CHANGES[verdict]
                await set_status(unit, current, kind, at=now, actor=ChangeActor.JOB, reason=reason)
                done.append((current, verdict))
        await unit.commit()
    for item, verdict in done:
        _log.info("memory_reviewed", verdict=verdict.value, kind=kind_of(item).value, item_id=id_of(item))
    return done


async def _pages(record: SystemOfRecord, user_id: str) -> AsyncIterator[list[Reviewable]]:
    for kind in ReviewableKind:
        after = None
        while True:
            async with record.reading(user_id=user_id) as unit:
                page = await page_of(unit, kind, after=after, limit=_PAGE)
            if not page:
                break
            yield page
            after = id_of(page[-1])
