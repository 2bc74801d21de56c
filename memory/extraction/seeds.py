"""The entities that every user's memory starts with (000 §10.1)."""

from dataclasses import dataclass

from ..language.word_lists import entries
from ..values.understanding.mentions import EntitySubtype


@dataclass(frozen=True, slots=True)
class Seed:
    """A preloaded system entity."""

    name: str
    subtype: EntitySubtype


def _seed(entry: str) -> Seed:
    name, subtype = entry.split("\t")
    return Seed(name, EntitySubtype(subtype))


SEEDS = tuple(map(_seed, entries("seeds", "memory.extraction")))
"""000 §10.1, in its order."""
