"""Checks, and the search by hops, of a user's graph: relations between entities."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from memory.ports.stores.repositories import MAX_DEPTH
from memory.values.errors import InvalidField

Step = Callable[[Sequence[str], int], Iterable[str]]
"""One hop: takes vertices and a limit; returns their distinct neighbours, sorted, visited vertices included."""


def walk(start: str, step: Step, *, depth: int, limit: int) -> Mapping[str, int]:
    """The vertices that can be reached from `start`, with the number of hops: nearest first, then sorted.

    Each hop is one statement, since a recursive query over both directions took 12 s (STORES, SQLite). A hop reads at
    most `limit` + 1 vertices, which bounds the memory where a vertex has many neighbours.

    Args:
        start: The first vertex; not in the result.
        step: Reads one hop.
        depth: The largest number of hops.
        limit: The largest number of vertices in the result.
    """
    hops = {start: 0}
    frontier = [start]
    for distance in range(1, depth + 1):
        missing = limit + 1 - len(hops)
        if missing <= 0 or not frontier:
            break
        # Of `limit` + 1 vertices, at most `limit` + 1 - `missing` were visited before.
        frontier = [vertex for vertex in step(frontier, limit + 1) if vertex not in hops][:missing]
        hops.update(dict.fromkeys(frontier, distance))
    del hops[start]
    return hops


def check_depth(depth: int) -> int:
    """Returns the depth of a walk if it is allowed.

    Raises:
        InvalidField: `depth` is not between 1 and `MAX_DEPTH`.
    """
    if not 1 <= depth <= MAX_DEPTH:
        allowed = f"1 to {MAX_DEPTH}"
        raise InvalidField(f"depth must be {allowed}.", field="depth", allowed=allowed)
    return depth


def check_ends(ends: Iterable[str], known: Iterable[str]) -> None:
    """Refuses relations that do not join entities of the user.

    Raises:
        InvalidField: An end is not among the known entities.
    """
    unknown = sorted(set(ends).difference(known))
    if unknown:
        raise InvalidField(
            f"A relation must join entities of this user; {unknown[0]!r} is not one.",
            field="source_entity_id, target_entity_id",
            allowed="ids of entities",
        )
