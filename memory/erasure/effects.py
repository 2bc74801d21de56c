"""What an erasure does to a user's record: ids that go, values that stay with less in them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ..ports.stores.record import UnitOfWork
from ..ports.stores.vectors import Collection
from ..values.base import Value
from ..values.entities import Entity, EntityRelation
from ..values.facts import Category, Fact, GraphEdge
from ..values.governance.changes import Change
from ..values.items import ItemPlace
from ..values.records import Memory, Resource

T = TypeVar("T", bound=Value)


@dataclass
class Effects:
    """Everything that follows from a selection.

    Args:
        edges: The edges of the graph that stay; None where all of them do.
        former: Values that are rewritten, as they were when this was found out.
        rewritten: The same values, as they become.
        sessions: Ids of turns that go, by the session whose short-term memory had them.
    """

    messages: list[str] = field(default_factory=list)
    memories: list[str] = field(default_factory=list)
    entities: list[str] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    items: list[ItemPlace] = field(default_factory=list)
    edges: list[GraphEdge] | None = None
    former: list[Value] = field(default_factory=list)
    rewritten: list[Value] = field(default_factory=list)
    sessions: dict[str, list[str]] = field(default_factory=dict)

    def rewrite(self, former: T, new: T) -> None:
        """Notes that a value is replaced, where it is another one."""
        if new != former:
            self.former.append(former)
            self.rewritten.append(new)

    def rewritten_of(self, kind: type[T]) -> list[T]:
        """The rewritten values of a kind, as they become."""
        return [value for value in self.rewritten if isinstance(value, kind)]

    @property
    def gone(self) -> set[str]:
        """The ids of everything that goes but changes."""
        return {
            *self.messages,
            *self.memories,
            *self.entities,
            *self.relations,
            *self.facts,
        }

    @property
    def points(self) -> dict[Collection, list[str]]:
        """The ids of the points that go, or are computed anew, by collection."""
        return {
            Collection.MEMORIES: [*self.memories, *(memory.memory_id for memory in self.rewritten_of(Memory))],
            Collection.ENTITIES: [*self.entities, *(entity.entity_id for entity in self.rewritten_of(Entity))],
            Collection.FACTS: [*self.facts, *(fact.fact_id for fact in self.rewritten_of(Fact))],
        }

    @property
    def is_empty(self) -> bool:
        """Whether nothing goes and nothing is rewritten."""
        parts = (self.gone, self.changes, self.categories, self.items, self.rewritten)
        return not any(parts) and self.edges is None


async def apply(unit: UnitOfWork, effects: Effects) -> dict[str, int] | None:
    """Writes the effects; the caller commits.

    Returns:
        How many rows went or were rewritten, by what they hold; None, and nothing is written, where somebody else has
        changed one of the values since the effects were found out.
    """
    if not await _is_unchanged(unit, effects):
        return None
    counts = dict(
        await unit.erasure.delete(
            messages=effects.messages,
            facts=effects.facts,
            changes=effects.changes,
            categories=effects.categories,
        )
    )
    counts["resources"] = counts.pop("messages")
    counts["relations"] = await unit.relations.delete(effects.relations)
    counts["memories"] = await unit.memories.delete(effects.memories)
    counts["entities"] = await unit.entities.delete(effects.entities)
    counts["items"] = await unit.items.delete(effects.items)
    counts["edges"] = 0
    if effects.edges is not None:
        counts["edges"] = await unit.graph.delete_all() - len(await unit.graph.create_many(effects.edges))
    await unit.erasure.rewrite(messages=effects.rewritten_of(Resource), changes=effects.rewritten_of(Change))
    await unit.memories.save(effects.rewritten_of(Memory))
    await unit.entities.save(effects.rewritten_of(Entity))
    await unit.relations.store(effects.rewritten_of(EntityRelation))
    for fact in effects.rewritten_of(Fact):
        await unit.facts.update(fact)
    for category in effects.rewritten_of(Category):
        await unit.categories.upsert(category)
    return counts | {"rewritten": len(effects.rewritten)}


async def _is_unchanged(unit: UnitOfWork, effects: Effects) -> bool:
    def former(kind: type[T]) -> list[T]:
        return [value for value in effects.former if isinstance(value, kind)]

    messages, memories, entities = former(Resource), former(Memory), former(Entity)
    relations, facts, changes = former(EntityRelation), former(Fact), former(Change)
    pairs: Iterable[tuple[Sequence[Value], Sequence[Value]]] = (
        (messages, await unit.log.get([message.resource_id for message in messages])),
        (memories, await unit.memories.get([memory.memory_id for memory in memories])),
        (entities, await unit.entities.get([entity.entity_id for entity in entities])),
        (relations, await unit.relations.get([relation.relation_id for relation in relations])),
        (facts, await unit.facts.get_many([fact.fact_id for fact in facts])),
        (changes, await unit.changes.get([change.change_id for change in changes])),
    )
    return all(list(known) == list(found) for known, found in pairs)
