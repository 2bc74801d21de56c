"""What the engines of the vector index answer alike, and what is made of it."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol

from memory.ports.vectors import ScoredPoint

_FIRST_USERS = 10_000


class FacetHit(Protocol):
    """One line of what an engine answers when it counts points by a payload field."""

    @property
    def value(self) -> str | int | bool:
        """What the field holds."""

    @property
    def count(self) -> int:
        """How many points have it."""


def ranked(hits: Iterable[ScoredPoint]) -> list[ScoredPoint]:
    """The best first; equal scores are ordered by id."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.point_id))


async def owners(facet: Callable[[int], Awaitable[Sequence[FacetHit]]]) -> list[str]:
    """Everybody who has points, sorted.

    Args:
        facet: The owners of points and how many each has, those with most first, at most as many as it is called with.
    """
    limit = _FIRST_USERS
    while True:
        hits = await facet(limit)
        if len(hits) < limit:
            return sorted(str(hit.value) for hit in hits if hit.count)
        limit *= 10  # a facet has no pages; users whose points are gone come last, with a count of 0
