"""Lists of facts: those of a category, of a status, and those that held at a time, page by page (002 §8.1)."""

import re
from datetime import UTC, datetime, timedelta

from ..ports.facts import Place
from ..ports.record import UnitOfWork
from ..values.base import Value
from ..values.errors import InvalidField
from ..values.facts import Fact, FactStatus
from ..values.text import normalise

MAX_ITEMS = 1_000
"""So many items are listed at once."""

CURSOR = r"^(-?[0-9]{1,16})\.([0-9A-Za-z-]{1,64})$"
"""What a cursor looks like: microseconds since 1970, and the id of a fact."""

_ALL = 1_000_000
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


class ItemList(Value):
    """A page of facts, latest recorded first.

    Args:
        items: They.
        total: How many there are on all pages.
        next: The cursor of the next page; None on the last one.
    """

    items: tuple[Fact, ...]
    total: int
    next: str | None = None


async def list_items(
    unit: UnitOfWork,
    *,
    category: str | None = None,
    status: FactStatus | None = FactStatus.ACTIVE,
    after: str | None = None,
    limit: int = 100,
) -> ItemList:
    """The facts of a category, or of all; of a status, or of any.

    Raises:
        InvalidField: `after` is no cursor.
    """
    facts = await unit.facts.list(category=category, status=status, behind=_place(after), limit=limit + 1)
    return _page(facts, total=await unit.facts.count(category=category, status=status), limit=limit)


async def list_items_as_of(
    unit: UnitOfWork,
    moment: datetime,
    *,
    category: str | None = None,
    status: FactStatus | None = None,
    after: str | None = None,
    limit: int = 100,
) -> ItemList:
    """The facts that held at a moment, also those archived since; of several that say the same, the latest recorded.

    `status` is theirs now; None for any.

    Raises:
        InvalidField: `after` is no cursor.
    """
    place = _place(after)
    facts = await unit.facts.list(category=category, status=status, limit=_ALL)
    held: dict[tuple[str, str, str], Fact] = {}
    for fact in facts:
        if fact.holds(moment):
            says = (normalise(fact.subject), normalise(fact.predicate), normalise(fact.object))
            held.setdefault(says, fact)
    return _page([fact for fact in held.values() if _is_behind(fact, place)], total=len(held), limit=limit)


def _page(facts: list[Fact], *, total: int, limit: int) -> ItemList:
    items = tuple(facts[:limit])
    more = len(facts) > limit > 0
    return ItemList(items=items, total=total, next=_cursor(items[-1]) if more else None)


def _cursor(fact: Fact) -> str:
    """The place of a fact as text; it stays a place when the fact is gone."""
    return f"{(fact.recorded_at - _EPOCH) // _MICROSECOND}.{fact.fact_id}"


def _place(cursor: str | None) -> Place | None:
    if cursor is None:
        return None
    if (match := re.match(CURSOR, cursor)) is None:
        raise InvalidField("after: this is no cursor", field="after", allowed="`next` of the page before")
    return _EPOCH + int(match[1]) * _MICROSECOND, match[2]


def _is_behind(fact: Fact, place: Place | None) -> bool:
    if place is None or fact.recorded_at < place[0]:
        return True
    return fact.recorded_at == place[0] and fact.fact_id > place[1]
