"""Choosing data sets on the command line."""

from collections.abc import Sequence
from typing import Protocol, TypeVar


class NamedSet(Protocol):
    """A data set that can be chosen."""

    @property
    def name(self) -> str:
        """What it is chosen by."""
        ...

    @property
    def is_open(self) -> bool:
        """Whether its licence allows any use."""
        ...


SetT = TypeVar("SetT", bound=NamedSet)


def choose_sets(sets: Sequence[SetT], named: str) -> dict[SetT, float]:
    """Data sets by names, each with a weight: `rewrite,canard:0.5`; `all`, or `open` for those whose licence allows any
    use.

    Args:
        sets: All there are.
        named: What was asked for.

    Raises:
        ValueError: There is no set of a name.
    """
    if named in ("all", "open"):
        return {one: 1.0 for one in sets if one.is_open or named == "all"}
    by_name = {one.name: one for one in sets}
    found = {}
    for part in named.split(","):
        name, _, weight = part.partition(":")
        if name not in by_name:
            raise ValueError(f"There is no data set {name}; there are {', '.join(by_name)}.")
        found[by_name[name]] = float(weight or 1.0)
    return found
