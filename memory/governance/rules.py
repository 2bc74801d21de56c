"""What is kept, archived or looked at again (001 §4.1)."""

from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import Field

from ..entities.statuses import Keepable
from ..values.base import Value
from ..values.entities import Entity, EntityStatus

LOW_HOTNESS = "低熱度 / rarely used"
STALE = "長期未更新但持續訪問 / not updated for long, yet still used"


class Verdict(StrEnum):
    """What a review decides; most things are none of these and stay as they are."""

    ARCHIVE = "archive"
    REVIEW = "review"
    KEEP = "keep"
    NONE = "none"


class ReviewRules(Value):
    """Thresholds of 001 §4.1.

    Args:
        archive_max_access: Used at most so often …
        archive_after_days: … and not once since so many days, nor created or said since: archived.
        stale_after_days: Not said since so many days …
        still_accessed_within_days: … and yet retrieved within so many: to be reviewed.
        keep_above_access: Used more often than this: never archived.
    """

    archive_max_access: int = Field(default=3, ge=0)
    archive_after_days: float = Field(default=90, gt=0)
    stale_after_days: float = Field(default=180, gt=0)
    still_accessed_within_days: float = Field(default=90, gt=0)
    keep_above_access: int = Field(default=10, ge=0)

    def is_low_hotness(self, item: Keepable, now: datetime) -> bool:
        """Whether it is rarely used and old.

        001 counts the days since it was created. What was said, retrieved or restored since is not archived either:
        otherwise what somebody restores on Monday is gone again on Sunday.
        """
        return uses(item) <= self.archive_max_access and last_touched(item) < now - timedelta(
            days=self.archive_after_days
        )

    def is_potentially_stale(self, item: Keepable, now: datetime) -> bool:
        """Whether nobody has said it for long, and yet it is retrieved."""
        return (
            item.accessed_at is not None
            and last_said(item) < now - timedelta(days=self.stale_after_days)
            and item.accessed_at >= now - timedelta(days=self.still_accessed_within_days)
        )

    def is_kept(self, item: Keepable) -> bool:
        """Whether it is used so much that it is never archived."""
        return uses(item) > self.keep_above_access

    def verdict(self, item: Keepable, now: datetime) -> Verdict:
        """What to do about a thing; only active ones are archived or marked.

        Preloaded entities that were never mentioned are left alone: nobody has said them yet.
        """
        if item.status.value != EntityStatus.ACTIVE.value or (isinstance(item, Entity) and item.mention_count == 0):
            return Verdict.NONE
        if self.is_low_hotness(item, now) and not self.is_kept(item):
            return Verdict.ARCHIVE
        if self.is_potentially_stale(item, now):
            return Verdict.REVIEW
        return Verdict.KEEP if self.is_kept(item) else Verdict.NONE


def uses(item: Keepable) -> int:
    """How often it was used: 001's access_count; each mention of an entity is a use too."""
    return item.access_count + (item.mention_count if isinstance(item, Entity) else 0)


def last_said(item: Keepable) -> datetime:
    """When it was last said: 001's updated_at."""
    return item.last_mentioned if isinstance(item, Entity) else item.updated_at


def last_touched(item: Keepable) -> datetime:
    """When it was last created, said, retrieved or restored."""
    created = item.first_mentioned if isinstance(item, Entity) else item.created_at
    return max(created, last_said(item), item.accessed_at or created)
