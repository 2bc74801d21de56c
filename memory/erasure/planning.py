"""Finds out what follows from an erasure: what was learned only from it goes, what has other evidence stays with less.

It reads all of the user's rows, so that nothing is missed that an index does not know.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from ..learning.learned_turns import LearnedTurn
from ..learning.mention_targets import find_mention_targets
from ..learning.relations import observed_relations
from ..ports.stores.record import UnitOfWork
from ..relations.strength import add_observation
from ..values.entities import Entity, EntityRelation
from ..values.facts import Fact, GraphEdge
from ..values.records import Memory, Resource
from ..values.text import normalise
from ..values.understanding.dialogue import Role
from .anonymising import leave_placeholders
from .effects import Effects
from .entities import Evidence, Passage, count_mentions, names_given, settle_entity
from .items import items_that_repeat
from .selection import Selection, pages, says
from .traces import kept_change, without_quotes

_REBUILT_FROM = 200
"""Memories from which a relation is learned again at most."""


async def plan(unit: UnitOfWork, user_id: str, selection: Selection) -> Effects:
    """Everything that follows from a selection."""
    return await _Planner(unit, user_id, selection).plan()


class _Planner:
    def __init__(self, unit: UnitOfWork, user_id: str, selection: Selection) -> None:
        self._unit = unit
        self._user_id = user_id
        self._selection = selection
        self._effects = Effects(messages=list(selection.messages))
        self._entities: dict[str, Entity] = {}
        self._mentioned: set[str] = set()
        self._together: list[frozenset[str]] = []
        self._kept: dict[str, list[Passage]] = defaultdict(list)
        self._memory_of: dict[str, str] = {}
        self._updates: dict[str, dict[str, Any]] = defaultdict(dict)
        self._given: dict[str, set[str]] = defaultdict(set)
        self._lost: dict[str, set[str]] = {}

    async def plan(self) -> Effects:
        await self._read_memories()
        await self._read_changes()
        await self._read_entities()
        said = await self._read_log()
        await self._settle_entities(said)
        await self._settle_memories()
        await self._settle_relations()
        await self._settle_facts()
        await self._settle_changes()
        self._effects.items = await items_that_repeat(self._unit.items, self._selection)
        await leave_placeholders(self._unit, self._selection, self._effects)
        for resource in self._selection.messages.values():
            self._effects.sessions.setdefault(resource.session_id, []).append(resource.resource_id)
        return self._effects

    async def _read_memories(self) -> None:
        gone, items = self._selection.messages, self._selection.items
        async for memory in pages(self._unit.memories.page, lambda memory: memory.memory_id):
            if memory.resource_id in gone or memory.memory_id in items:
                self._effects.memories.append(memory.memory_id)
                self._mentioned.update(memory.entity_ids)
                self._together.append(frozenset(memory.entity_ids))
                continue
            self._memory_of[memory.resource_id] = memory.memory_id
            passage = Passage(memory.memory_id, memory.resource_id, memory.created_at, memory.entity_ids)
            for entity_id in memory.entity_ids:
                self._kept[entity_id].append(passage)

    async def _read_changes(self) -> None:
        """Changes because of the messages name further entities of them; others say which names people have given."""
        async for change in pages(self._unit.changes.page, lambda change: change.sequence):
            if self._selection.messages.keys() & set(change.subjects):
                self._mentioned.update(item.item_id for item in change.items)
            else:
                for entity_id, names in names_given(change).items():
                    self._given[entity_id] |= names

    async def _read_entities(self) -> None:
        self._entities = {
            entity.entity_id: entity
            async for entity in pages(self._unit.entities.page, lambda entity: entity.entity_id)
        }
        said = "\n".join(normalise(resource.content) for resource in self._selection.messages.values())
        for id_, entity in self._entities.items():
            is_named = any(says(said, normalise(name)) for name in entity.names)
            is_of_scope = self._selection.holds(entity.first_mentioned, entity.last_mentioned)
            if is_named or (is_of_scope and entity.mention_count > 0):
                self._mentioned.add(id_)
        for id_ in [id_ for id_, entity in self._entities.items() if entity.merged_into in self._mentioned]:
            self._mentioned.add(id_)

    async def _read_log(self) -> set[str]:
        """Rewrites messages that stay and quote those that go; returns the names of entities that users still say."""
        wanted = {normalise(name) for id_ in self._mentioned & self._entities.keys() for name in self._names(id_)}
        said: set[str] = set()
        gone_texts: dict[str, list[str]] = defaultdict(list)
        kept_texts: dict[str, list[str]] = defaultdict(list)
        previous: dict[str, Resource] = {}
        async for resource in pages(self._unit.log.page, lambda resource: resource.sequence):
            session = resource.session_id
            before = previous.get(session)
            previous[session] = resource
            if self._selection.holds_message(resource):
                gone_texts[session].append(normalise(resource.content))
                continue
            text = normalise(resource.content)
            if resource.role is Role.USER:
                said |= {name for name in wanted - said if says(text, name)}
            if gone_texts[session]:
                self._without_quotes(resource, before, gone_texts[session], kept_texts[session])
            kept_texts[session].append(text)
        return said

    def _without_quotes(self, resource: Resource, before: Resource | None, gone: list[str], kept: list[str]) -> None:
        """Notes that a message and its memory quote an erased one: as the turn before, or where it refers to it."""
        after = without_quotes(resource, gone=gone, kept=kept)
        self._effects.rewrite(resource, after)
        update: dict[str, Any] = {}
        if after.resolved != resource.resolved:
            update["resolved"] = None
        if before is not None and before.resource_id in self._selection.messages:
            update["context"] = None
        if update and resource.resource_id in self._memory_of:
            self._updates[self._memory_of[resource.resource_id]] |= update

    async def _settle_entities(self, said: set[str]) -> None:
        selection, effects = self._selection, self._effects
        named = {id_ for id_, entity in self._entities.items() if entity.merged_into in selection.items}
        asked = {id_ for id_ in {*selection.items, *named} if id_ in self._entities}
        effects.entities.extend(sorted(asked))
        for id_ in asked:
            self._lost[id_] = {normalise(name) for name in self._names(id_)}
        mentioned = [self._entities[id_] for id_ in sorted(self._mentioned & self._entities.keys() - asked)]
        counts: Counter[str] = Counter()
        waiting = self._unit.log.list_unextracted
        unlearned = {entry.resource_id async for entry in pages(waiting, lambda resource: resource.sequence)}
        for id_, resource in selection.messages.items():
            if resource.role is Role.USER and resource.learn and id_ not in unlearned:
                counts.update(count_mentions(resource, mentioned))
        evidence = Evidence(kept=self._kept, mentions=counts, said=said, given=self._given)
        for entity in mentioned:
            if lost := settle_entity(entity, selection, evidence, effects):
                self._lost[entity.entity_id] = lost
        gone = set(effects.entities)
        rewritten = {id(value) for value in effects.former}
        for entity in self._entities.values():
            refers = gone & {*entity.related_entities, entity.merged_into}
            if entity.entity_id not in gone and refers:
                update = {
                    "related_entities": tuple(id_ for id_ in entity.related_entities if id_ not in gone),
                    "merged_into": None if entity.merged_into in gone else entity.merged_into,
                }
                if id(entity) in rewritten:
                    place = next(place for place, value in enumerate(effects.former) if value is entity)
                    effects.rewritten[place] = effects.rewritten[place].model_copy(update=update)
                else:
                    effects.rewrite(entity, entity.model_copy(update=update))

    async def _settle_memories(self) -> None:
        gone = set(self._effects.entities)
        for entity_id in gone:
            for passage in self._kept.get(entity_id, ()):
                entity_ids = tuple(id_ for id_ in passage.entity_ids if id_ not in gone)
                self._updates[passage.memory_id]["entity_ids"] = entity_ids
        for memory in await self._unit.memories.get(sorted(self._updates)):
            after = memory.model_copy(update=self._updates[memory.memory_id])
            if after != memory:
                self._effects.rewrite(memory, after.model_copy(update={"version": memory.version + 1}))

    async def _settle_relations(self) -> None:
        gone = set(self._effects.entities)
        async for relation in pages(self._unit.relations.page, lambda relation: relation.relation_id):
            ends = {relation.source_entity_id, relation.target_entity_id}
            is_of_scope = relation.evidence is None and self._selection.holds(relation.created_at, relation.updated_at)
            is_asked = relation.relation_id in self._selection.items
            if ends & gone or is_of_scope or is_asked:
                self._effects.relations.append(relation.relation_id)
                continue
            is_evidence_gone = relation.evidence in self._selection.messages
            if is_evidence_gone or any(ends <= mentioned for mentioned in self._together):
                learned = await self._learned_again(relation)
                if learned is not None:
                    self._effects.rewrite(relation, learned)
                elif is_evidence_gone:
                    self._effects.relations.append(relation.relation_id)

    async def _learned_again(self, relation: EntityRelation) -> EntityRelation | None:
        """The relation as the memories that stay show it; None where they do not."""
        passages = self._kept.get(relation.target_entity_id, [])[-_REBUILT_FROM:]
        resources = await self._unit.log.get([passage.resource_id for passage in passages])
        turns = [
            LearnedTurn(resource, resource.understanding, None)
            for resource in resources
            if resource.understanding is not None and not self._selection.holds_message(resource)
        ]
        mentions = {id_: mention for turn in turns for id_, mention in turn.mentions()}
        targets = await find_mention_targets(self._unit, self._user_id, mentions)
        said = (relation.source_entity_id, relation.relation_type, relation.target_entity_id)
        learned: EntityRelation | None = None
        for turn in turns:
            for shown in await observed_relations(self._unit, turn, targets.ids) if turn.tells else ():
                if (shown.source_entity_id, shown.relation_type, shown.target_entity_id) == said:
                    learned = shown if learned is None else add_observation(learned, shown)
        return None if learned is None else learned.model_copy(update={"relation_id": relation.relation_id})

    async def _settle_facts(self) -> None:
        selection, effects = self._selection, self._effects
        gone: list[Fact] = []
        kept: list[Fact] = []
        async for fact in pages(self._unit.facts.page, lambda fact: fact.fact_id):
            names = {normalise(fact.subject), normalise(fact.object)}
            is_meant = fact.resource_id in selection.messages or fact.fact_id in selection.items
            told_at = (fact.recorded_at,) if fact.resource_id else (fact.recorded_at, fact.updated_at)
            if not is_meant and selection.holds(*told_at):
                is_meant = not await self._unit.log.get([fact.resource_id])
            (gone if is_meant or names & selection.names else kept).append(fact)
        effects.facts = [fact.fact_id for fact in gone]
        gone_ids = frozenset(effects.facts)
        for fact in kept:
            effects.rewrite(fact, _without_links(fact, gone_ids))
        said = {_statement(fact) for fact in gone} - {_statement(fact) for fact in kept}
        edges = await self._unit.graph.list_all() if said or selection.names else []
        staying = [
            edge for edge in edges if _statement(edge) not in said and not {*_statement(edge)[::2]} & selection.names
        ]
        effects.edges = staying if len(staying) < len(edges) else None
        await self._settle_categories({fact.category for fact in gone}, {fact.category for fact in kept})

    async def _settle_categories(self, touched: set[str], used: set[str]) -> None:
        """A summary may quote the facts that it sums up: it is empty until it is written again."""
        for category in await self._unit.categories.list() if touched else ():
            if category.name in touched - used:
                self._effects.categories.append(category.category_id)
            elif category.name in touched:
                self._effects.rewrite(category, category.model_copy(update={"summary": ""}))

    async def _settle_changes(self) -> None:
        effects = self._effects
        quoting = {memory.memory_id for memory in effects.rewritten_of(Memory)}
        quoting |= {relation.relation_id for relation in effects.rewritten_of(EntityRelation)} | self._lost.keys()
        names = set().union(*self._lost.values(), self._selection.names) if self._lost else set(self._selection.names)
        async for change in pages(self._unit.changes.page, lambda change: change.sequence):
            kept = kept_change(
                change,
                messages=self._selection.messages.keys(),
                items=effects.gone | quoting,
                gone=effects.gone,
                names=names,
            )
            if kept is None:
                effects.changes.append(change.change_id)
            else:
                effects.rewrite(change, kept)

    def _names(self, entity_id: str) -> Iterable[str]:
        return self._entities[entity_id].names


def _statement(value: Fact | GraphEdge) -> tuple[str, str, str]:
    return normalise(value.subject), normalise(value.predicate), normalise(value.object)


def _without_links(fact: Fact, gone: frozenset[str]) -> Fact:
    """The fact without the ids of facts that go."""
    details = fact.details
    if details is not None:
        details = details.model_copy(
            update={
                "also_supersedes": tuple(id_ for id_ in details.also_supersedes if id_ not in gone),
                "superseded_by": None if details.superseded_by in gone else details.superseded_by,
            }
        )
    return fact.model_copy(
        update={
            "supersedes": None if fact.supersedes in gone else fact.supersedes,
            "conflicts_with": tuple(id_ for id_ in fact.conflicts_with if id_ not in gone),
            "details": details,
        }
    )
