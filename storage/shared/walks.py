"""Walking a graph hop by hop: the same walk over relations of entities and over the graph of facts."""

from collections.abc import Callable, Iterable, Mapping, Sequence

Step = Callable[[Sequence[str], int], Iterable[str]]
"""The first so many neighbours of the vertices given, sorted, each once; may include vertices walked before."""


def walk(start: str, step: Step, *, depth: int, limit: int) -> Mapping[str, int]:
    """What can be reached from `start`, with the number of hops: nearest first, then sorted; without `start`.

    One statement a hop, since a recursive query over both directions took 12 s (STORES, SQLite). No step is asked for
    more than `limit` + 1 vertices, so one with any number of neighbours costs no memory.

    Args:
        start: Where to begin.
        step: One hop.
        depth: The greatest number of hops.
        limit: How many vertices are returned at most.
    """
    hops = {start: 0}
    frontier = [start]
    for distance in range(1, depth + 1):
        missing = limit + 1 - len(hops)
        if missing <= 0 or not frontier:
            break
        # Of this many, those walked before leave at least as many as are missing.
        frontier = [vertex for vertex in step(frontier, limit + 1) if vertex not in hops][:missing]
        hops.update(dict.fromkeys(frontier, distance))
    del hops[start]
    return hops
