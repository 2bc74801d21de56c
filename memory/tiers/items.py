"""Lists of facts: those of a category, of a status, and those that held at a time, page by page (002 §8.1)."""

from datetime import datetime

from ..ports.stores.places import Place, cursor_of, place_of
from ..ports.stores.record import UnitOfWork
from ..values.base import Value
from ..values.facts import Fact, FactStatus
from ..values.text import normalise

MAX_ITEMS = 1_000
"""So many items are listed at once."""

_ALL = 1_000_000


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
    facts = await unit.facts.list(category=category, status=status, behind=place_of(after), limit=limit + 1)
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
    place = place_of(after)
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
    return ItemList(
        items=items, total=total, next=cursor_of(items[-1].recorded_at, items[-1].fact_id) if more else None
    )


def _is_behind(fact: Fact, place: Place | None) -> bool:
    if place is None or fact.recorded_at < place[0]:
        return True
    return fact.recorded_at == place[0] and fact.fact_id > place[1]
