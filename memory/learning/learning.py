"""Writes down what log entries teach, in the transaction that takes them off the backlog (DESIGN §3.6)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..ports.record import UnitOfWork
from ..values.entities import Entity
from .learned_aliases import learn_aliases
from .learned_turns import Lesson, save_entities, save_memories
from .relations import save_relations


@dataclass(frozen=True)
class Learning:
    """What lessons brought: the entities that they touched, and how much of it is new."""

    entities: tuple[Entity, ...] = ()
    new_entities: int = 0
    memories: int = 0
    relations: int = 0
    aliases: int = 0


async def learn_from(unit: UnitOfWork, user_id: str, lessons: Sequence[Lesson]) -> Learning:
    """Saves entities, memories, relations and aliases of lessons in the order of the log; the caller commits.

    An entry that gives a second name to something is followed at once: what comes after it may use that name.
    """
    touched: dict[str, Entity] = {}
    new = memories = relations = aliases = 0
    for some in _up_to_aliases(lessons):
        learned = await save_entities(unit, user_id, some)
        memories += await save_memories(unit, some, learned.owners)
        relations += await save_relations(unit, user_id, some, learned.owners.ids)
        renamed = await learn_aliases(unit, user_id, some, learned.owners.ids)
        new += learned.new
        aliases += len(renamed)
        touched |= {entity.entity_id: entity for entity in (*learned.entities, *renamed)}
    return Learning(tuple(touched.values()), new, memories, relations, aliases)


def _up_to_aliases(lessons: Sequence[Lesson]) -> Iterator[Sequence[Lesson]]:
    """The lessons in runs, each of which ends with one that gives second names."""
    start = 0
    for place, lesson in enumerate(lessons, start=1):
        if lesson.aliases():
            yield lessons[start:place]
            start = place
    if start < len(lessons):
        yield lessons[start:]
