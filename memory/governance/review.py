"""Reviewing one user's memory: what is rarely used is archived, what may be out of date is marked (001 §4)."""

from collections.abc import AsyncIterator
from datetime import datetime

from ..entities.statuses import Keepable, KeepableKind, id_of, keepable, kind_of, set_status
from ..ports.record import SystemOfRecord, UnitOfWork
from ..values.base import UserId, Value
from ..values.changes import ChangeActor, ChangeKind
from ..values.entities import Entity
from .rules import LOW_HOTNESS, STALE, ReviewRules, Verdict

_PAGE = 256
_DEEDS = {Verdict.ARCHIVE: (ChangeKind.ARCHIVE, LOW_HOTNESS), Verdict.REVIEW: (ChangeKind.REVIEW, STALE)}


class Reviewed(Value):
    """Something that a review archived or marked, or would have."""

    user_id: UserId
    kind: KeepableKind
    item_id: str
    value: str
    verdict: Verdict
    reason: str


class ReviewReport(Value):
    """What a review did, or would have done.

    Args:
        checked: Entities and typed memories looked at.
        archived: Rarely used and old ones.
        marked: Ones for a person to look at.
        kept: Ones used so much that they are never archived.
        items: The first of those archived or marked.
    """

    users: int = 0
    checked: int = 0
    archived: int = 0
    marked: int = 0
    kept: int = 0
    items: tuple[Reviewed, ...] = ()

    def plus(self, other: "ReviewReport", *, shown: int = 200) -> "ReviewReport":
        """The sum of two reports, with so many items at most."""
        return ReviewReport(
            users=self.users + other.users,
            checked=self.checked + other.checked,
            archived=self.archived + other.archived,
            marked=self.marked + other.marked,
            kept=self.kept + other.kept,
            items=(*self.items, *other.items)[:shown],
        )


async def review_user(
    record: SystemOfRecord, user_id: str, *, rules: ReviewRules, now: datetime, dry_run: bool = False
) -> ReviewReport:
    """Reviews one user's entities and typed memories, a transaction a page; to do it again changes nothing more.

    Raises:
        StoreUnavailable: The record is down; what was done stays done.
    """
    report = ReviewReport(users=1)
    async for page in _pages(record, user_id):
        verdicts = [(item, rules.verdict(item, now)) for item in page]
        wanted = [(item, verdict) for item, verdict in verdicts if verdict in _DEEDS]
        done = wanted if dry_run or not wanted else await _apply(record, user_id, wanted, rules, now)
        report = report.plus(
            ReviewReport(
                checked=len(page),
                archived=sum(verdict is Verdict.ARCHIVE for _, verdict in done),
                marked=sum(verdict is Verdict.REVIEW for _, verdict in done),
                kept=sum(verdict is Verdict.KEEP for _, verdict in verdicts),
                items=tuple(_shown(item, verdict) for item, verdict in done),
            )
        )
    return report


async def _apply(
    record: SystemOfRecord,
    user_id: str,
    wanted: list[tuple[Keepable, Verdict]],
    rules: ReviewRules,
    now: datetime,
) -> list[tuple[Keepable, Verdict]]:
    """Does it to those that are still so: somebody may have spoken of one since the page was read."""
    done: list[tuple[Keepable, Verdict]] = []
    async with record.writing(user_id=user_id) as unit:
        for item, verdict in wanted:
            current = await keepable(unit, kind_of(item), id_of(item))
            if rules.verdict(current, now) is verdict:
                kind, reason = _DEEDS[verdict]
                await set_status(unit, current, kind, at=now, actor=ChangeActor.JOB, reason=reason)
                done.append((current, verdict))
        await unit.commit()
    return done


async def _pages(record: SystemOfRecord, user_id: str) -> AsyncIterator[list[Keepable]]:
    for kind in KeepableKind:
        after = None
        while True:
            async with record.reading(user_id=user_id) as unit:
                page = await _page(unit, kind, after)
            if not page:
                break
            yield page
            after = id_of(page[-1])


async def _page(unit: UnitOfWork, kind: KeepableKind, after: str | None) -> list[Keepable]:
    if kind is KeepableKind.ENTITY:
        return [*await unit.entities.page(after=after, limit=_PAGE)]
    return [*await unit.typed_memories.page(after=after, limit=_PAGE)]


def _shown(item: Keepable, verdict: Verdict) -> Reviewed:
    return Reviewed(
        user_id=item.user_id,
        kind=kind_of(item),
        item_id=id_of(item),
        value=item.entity_value if isinstance(item, Entity) else f"{item.entity_type}: {item.entity_value}",
        verdict=verdict,
        reason=_DEEDS[verdict][1],
    )
