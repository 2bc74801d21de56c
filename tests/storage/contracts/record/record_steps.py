"""Steps that a user may take with a system of record, and all that they can see of it: for the isolation test."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from memory.ports.erasures import RecordErasure
from memory.ports.jobs import PipelineRun
from memory.ports.stores.corpora import CorpusRepository, KnowledgeRepository, SourceRepository
from memory.ports.stores.facts import CategoryAccessRepository, CategoryRepository, FactRepository, GraphRepository
from memory.ports.stores.graphs import KnowledgeGraphRepository
from memory.ports.stores.items import ItemRepository
from memory.ports.stores.policies import PolicyRepository
from memory.ports.stores.record import Backlog, SystemOfRecord, UnitOfWork
from memory.ports.stores.repositories import (
    Access,
    ChangeLog,
    EntityRepository,
    MemoryRepository,
    RawLog,
    RelationRepository,
)
from memory.ports.stores.vectors import Collection
from memory.values.access.identity import app_owner
from memory.values.errors import BadRequest
from memory.values.facts import FactStatus
from memory.values.governance.changes import ChangeKind
from memory.values.governance.retention import RetentionPolicy
from memory.values.items import MAX_LABEL_CHARACTERS, ItemCollection, ItemOrder, ItemPlace, StoredItem
from memory.values.records import ResourceKind
from memory.values.typed_memories import MemoryStatus
from tests.storage.contracts.record.knowledge_steps import KNOWLEDGE_ACTIONS, view_knowledge, view_waiting
from tests.storage.contracts.record.steps import Step, app_for

REPOSITORIES: Mapping[str, Any] = {
    "unit.log": RawLog,
    "unit.entities": EntityRepository,
    "unit.relations": RelationRepository,
    "unit.memories": MemoryRepository,
    "unit.facts": FactRepository,
    "unit.categories": CategoryRepository,
    "unit.category_accesses": CategoryAccessRepository,
    "unit.graph": GraphRepository,
    "unit.changes": ChangeLog,
    "unit.erasure": RecordErasure,
    "unit.policies": PolicyRepository,
    "unit.corpora": CorpusRepository,
    "unit.sources": SourceRepository,
    "unit.knowledge": KnowledgeRepository,
    "unit.knowledge_graph": KnowledgeGraphRepository,
    "unit.items": ItemRepository,
    "backlog": Backlog,
}


async def take(step: Step, record: SystemOfRecord, make: SimpleNamespace) -> Any:
    """Takes the step and returns what came of it: its result, or the kind of refusal."""
    try:
        if step.action in BACKLOG_ACTIONS:
            return await BACKLOG_ACTIONS[step.action](step, record.backlog)
        about_knowledge = KNOWLEDGE_ACTIONS.get(step.action)
        owner = app_owner(step.app) if about_knowledge else step.user_id
        async with record.writing(user_id=owner) as unit:
            result = await (
                about_knowledge(step, unit) if about_knowledge else UNIT_ACTIONS[step.action](step, unit, make)
            )
            await (unit.commit() if step.kept else unit.rollback())
            return result
    except BadRequest as error:
        return type(error)


async def _append(step: Step, unit: UnitOfWork, make: SimpleNamespace) -> None:
    fields = {"created_at": step.at, "session_id": "s", "learn": step.third != "a", "content": step.second}
    kind = ResourceKind.NOTE if step.second == "%" else ResourceKind.TURN
    await unit.log.append([make.resource(step.first, user_id=step.user_id, kind=kind, **fields)])


async def _mark_learned(step: Step, unit: UnitOfWork, _make: SimpleNamespace) -> list[str]:
    return await unit.log.mark_learned([step.first, step.second])


async def _delete_orphaned(step: Step, unit: UnitOfWork, _make: SimpleNamespace) -> int:
    return await unit.log.delete_orphaned(created_before=step.at + timedelta(seconds=1))


async def _save_entity(step: Step, unit: UnitOfWork, make: SimpleNamespace) -> None:
    entity = make.entity(step.second, step.third, user_id=step.user_id, entity_id=step.first, last_mentioned=step.at)
    await unit.entities.save([entity])


async def _update_mention(step: Step, unit: UnitOfWork, _make: SimpleNamespace) -> bool:
    return await unit.entities.update_mention(step.first, at=step.at)


async def _store_relation(step: Step, unit: UnitOfWork, make: SimpleNamespace) -> None:
    for end in (step.first, step.third):
        if step.second != "*":  # otherwise the ends may be unknown
            await unit.entities.save([make.entity(f"name {end}", user_id=step.user_id, entity_id=end)])
    relation = make.relation(step.first, step.third, user_id=step.user_id, relation_id=step.second)
    await unit.relations.store([relation])


async def _delete_relation(step: Step, unit: UnitOfWork, _make: SimpleNamespace) -> int:
    return await unit.relations.delete([step.first, step.second])


async def _save_memory(step: Step, unit: UnitOfWork, make: SimpleNamespace) -> None:
    memory = make.memory(step.first, user_id=step.user_id, text=step.second, created_at=step.at)
    await unit.memories.save([memory.model_copy(update={"resource_id": step.third})])


def _fact(step: Step, make: SimpleNamespace, **fields: Any) -> Any:
    fields = {"subject": step.second, "object": "it", "category": step.third, "recorded_at": step.at} | fields
    return make.fact(step.first, user_id=step.user_id, resource_id=step.second, **fields)


async def _create_facts(step: Step, unit: UnitOfWork, make: SimpleNamespace) -> list[str]:
    return await unit.facts.create_many([_fact(step, make, confidence=0.25)])


async def _update_fact(step: Step, unit: UnitOfWork, make: SimpleNamespace) -> None:
    await unit.facts.update(_fact(step, make, supersedes=step.third))


async def _update_status(step: Step, unit: UnitOfWork, _make: SimpleNamespace) -> bool:
    status = list(FactStatus)[len(step.second) % len(FactStatus)]
    return await unit.facts.update_status(step.first, status, now=step.at)


async def _create_category(step: Step, unit: UnitOfWork, make: SimpleNamespace) -> bool:
    category = make.category(step.first, user_id=step.user_id, category_id=step.second, summary=step.third)
    return await unit.categories.create(category)


async def _upsert_category(step: Step, unit: UnitOfWork, make: SimpleNamespace) -> None:
    category = make.category(step.first, user_id=step.user_id, category_id=step.second, summary=step.third)
    await unit.categories.upsert(category)


async def _create_accesses(step: Step, unit: UnitOfWork, make: SimpleNamespace) -> None:
    access = make.access(step.first, user_id=step.user_id, category=step.second, accessed_at=step.at)
    await unit.category_accesses.create_many([access])


async def _prune_accesses(step: Step, unit: UnitOfWork, _make: SimpleNamespace) -> int:
    return await unit.category_accesses.prune(before=step.at)


async def _create_edges(step: Step, unit: UnitOfWork, make: SimpleNamespace) -> list[str]:
    return await unit.graph.create_many([make.edge(step.first, "p", step.third, user_id=step.user_id)])


async def _delete_entity(step: Step, unit: UnitOfWork, _make: SimpleNamespace) -> int:
    return await unit.entities.delete([step.first, step.second, step.first])


async def _delete_memory(step: Step, unit: UnitOfWork, _make: SimpleNamespace) -> int:
    return await unit.memories.delete([step.first, step.second, step.first])


async def _save_policy(step: Step, unit: UnitOfWork, _make: SimpleNamespace) -> None:
    rate, threshold = (min(1.0, len(word) / 10) for word in (step.first, step.third))
    await unit.policies.save(RetentionPolicy(decay_rate=rate, threshold=threshold))


async def _delete_policy(_step: Step, unit: UnitOfWork, _make: SimpleNamespace) -> bool:
    return await unit.policies.delete()


async def _append_change(step: Step, unit: UnitOfWork, make: SimpleNamespace) -> None:
    change = make.change(step.first, step.second, step.third, user_id=step.user_id, at=step.at)
    await unit.changes.append([change])


async def _mark_undone(step: Step, unit: UnitOfWork, _make: SimpleNamespace) -> bool:
    return await unit.changes.mark_undone(step.first, at=None if step.third == "*" else step.at)


async def _erase_rows(step: Step, unit: UnitOfWork, _make: SimpleNamespace) -> Mapping[str, int]:
    return await unit.erasure.delete(
        messages=[step.first], facts=[step.second], changes=[step.third], categories=[step.first, step.second]
    )


async def _rewrite_rows(step: Step, unit: UnitOfWork, make: SimpleNamespace) -> None:
    entries = [entry.model_copy(update={"resolved": step.third}) for entry in await unit.log.get([step.first])]
    unknown = make.resource("unknown", user_id=step.user_id)
    changes = [make.change(step.first, step.second, user_id=step.user_id, at=step.at)]
    await unit.erasure.rewrite(messages=[*entries, unknown], changes=changes)


async def _request_erasure(step: Step, unit: UnitOfWork, _make: SimpleNamespace) -> None:
    request = PipelineRun(run_id=step.first, pipeline="erasure", started_at=step.at, updated_at=step.at)
    await unit.erasure.request([request])


async def _save_typed_memory(step: Step, unit: UnitOfWork, make: SimpleNamespace) -> None:
    status = list(MemoryStatus)[len(step.second) % len(MemoryStatus)]
    memory = make.typed_memory(step.second, step.third, user_id=step.user_id, memory_id=step.first, status=status)
    await unit.typed_memories.save([memory])


async def _count_accesses(step: Step, unit: UnitOfWork, _make: SimpleNamespace) -> None:
    accesses = [Access(step.first, 2, step.at), Access(step.second, 1, step.at)]
    await unit.entities.count_accesses(accesses)
    await unit.memories.count_accesses(accesses)
    await unit.typed_memories.count_accesses(accesses)
    await unit.facts.count_accesses(accesses)


async def _delete_all_edges(_step: Step, unit: UnitOfWork, _make: SimpleNamespace) -> int:
    return await unit.graph.delete_all()


def _label(word: str) -> str:
    """The word as a label or key, which are shorter and without a few characters."""
    return word.replace(".", "-").replace("\x00", "-")[:MAX_LABEL_CHARACTERS]


def _place(step: Step) -> ItemPlace:
    collections = list(ItemCollection)
    labels = tuple(_label(word) for word in (step.first, step.second) if word) or ("empty",)
    return ItemPlace(collections[len(step.third) % len(collections)], labels, _label(step.third))


async def _put_item(step: Step, unit: UnitOfWork, _make: SimpleNamespace) -> None:
    place = _place(step)
    item = StoredItem(
        user_id=step.user_id,
        collection=place.collection,
        namespace=place.namespace,
        key=place.key,
        value={"words": [step.first, step.second]},
        created_at=step.at,
        updated_at=step.at,
        expires_at=step.at + timedelta(seconds=2) if step.second == "a" else None,
        session_id="s",
    )
    await unit.items.put([item])


async def _delete_item(step: Step, unit: UnitOfWork, _make: SimpleNamespace) -> int:
    return await unit.items.delete([_place(step)])


async def _delete_expired_items(step: Step, unit: UnitOfWork, _make: SimpleNamespace) -> int:
    return await unit.items.delete_expired(at=step.at)


UNIT_ACTIONS: Mapping[str, Callable[[Step, UnitOfWork, SimpleNamespace], Awaitable[Any]]] = {
    action.__name__.removeprefix("_"): action
    for action in (
        _append,
        _mark_learned,
        _delete_orphaned,
        _save_entity,
        _update_mention,
        _store_relation,
        _delete_relation,
        _save_memory,
        _create_facts,
        _update_fact,
        _update_status,
        _create_category,
        _upsert_category,
        _create_accesses,
        _create_edges,
        _prune_accesses,
        _delete_all_edges,
        _delete_entity,
        _delete_memory,
        _save_policy,
        _delete_policy,
        _append_change,
        _save_typed_memory,
        _count_accesses,
        _mark_undone,
        _erase_rows,
        _rewrite_rows,
        _request_erasure,
        _put_item,
        _delete_item,
        _delete_expired_items,
    )
}


CREATING = (
    "append",
    "mark_learned",
    "save_entity",
    "store_relation",
    "save_memory",
    "save_policy",
    "create_facts",
    "create_category",
    "create_accesses",
    "create_edges",
    "append_change",
    "save_typed_memory",
    "put_item",
    "create_corpus",
    "add_config_version",
    "save_source",
    "add_source_version",
    "save_knowledge",
    "save_graph",
    "add_to_graph",
)
"""The actions that leave something of every kind."""


async def _requeue(step: Step, backlog: Backlog) -> None:
    await backlog.requeue(Collection.FACTS, [step.first, step.second], user_id=step.user_id)


async def _acknowledge(step: Step, backlog: Backlog) -> None:
    await backlog.acknowledge(await backlog.outbox(limit=2, user_id=step.user_id))


BACKLOG_ACTIONS: Mapping[str, Callable[[Step, Backlog], Awaitable[None]]] = {
    "requeue": _requeue,
    "acknowledge": _acknowledge,
}


async def view(record: SystemOfRecord, make: SimpleNamespace, user_id: str, words: Sequence[str]) -> dict[str, Any]:
    """All that a user can see, asked for by these words; without numbers that count everybody's writes."""
    backlog = record.backlog
    async with record.reading(user_id=user_id) as unit:
        seen = await _log(unit, make, words) | await _entities(unit, words) | await _facts(unit, make, words)
        seen |= await _categories(unit, make, words) | await _graph(unit)
        seen |= await _changes(unit, make, words) | await _stored_items(unit, make, words)
    async with record.reading(user_id=app_owner(app_for(user_id))) as unit:
        seen |= await view_knowledge(unit, words)
    seen["waiting knowledge"] = await view_waiting(backlog, app_for(user_id))
    for user in (user_id, None):
        unlearned = await backlog.unlearned(limit=999, user_id=user)
        outbox = await backlog.outbox(limit=999, user_id=user)
        seen[f"unlearned {user}"] = [resource.resource_id for resource in unlearned if resource.user_id == user_id]
        seen[f"outbox {user}"] = [(entry.collection, entry.item_id) for entry in outbox if entry.user_id == user_id]
    seen["user"] = user_id in await backlog.users(limit=99)
    seen["owned"] = [word for word in words if user_id in await backlog.owners(word)]
    seen["counted"] = (await backlog.counts())["users"] > 0 or not seen["user"]
    counted = sum(total.count for total in await backlog.fact_totals())
    seen["facts counted"] = counted >= sum(seen["facts"][8].values())
    return seen


async def _log(unit: UnitOfWork, make: SimpleNamespace, words: Sequence[str]) -> dict[str, Any]:
    entries = [
        await unit.log.get(words),
        await unit.log.session("s", limit=99),
        await unit.log.list(),
        await unit.log.list(kind=ResourceKind.NOTE, since=make.at(2)),
        await unit.log.list_unextracted(),
        await unit.log.page(limit=99),
    ]
    return {
        "log": [[entry.model_copy(update={"sequence": 0}) for entry in page] for page in entries],
        "log count": await unit.log.count(),
        "memories": [
            await unit.memories.get(words),
            await unit.memories.page(limit=99),
            await unit.memories.oldest(limit=99),
            [await unit.memories.oldest(after=word, limit=2) for word in words],
            sorted(memory.memory_id for memory in await unit.memories.recent(limit=99)),
            sorted(memory.memory_id for memory in await unit.memories.recent(limit=99, session_id="s")),
            [await unit.memories.mentioning(word) for word in words],
            await unit.memories.previous(words),
            await unit.memories.timeline(limit=99),
            await unit.memories.timeline(since=make.at(2), until=make.at(4), limit=99),
        ],
        "policy": await unit.policies.get(),
    }


async def _entities(unit: UnitOfWork, words: Sequence[str]) -> dict[str, Any]:
    return {
        "entities": [
            await unit.entities.get(words),
            await unit.entities.page(limit=99),
            await unit.entities.oldest(limit=99),
            [await unit.entities.oldest(after=word, limit=2) for word in words],
            sorted(entity.entity_id for entity in await unit.entities.recent(limit=99)),
            [entity.entity_id for entity in await unit.entities.found_in(" ".join(words))],
            [await unit.entities.get_by_value(word) for word in words],
        ],
        "relations": [
            await unit.relations.get(words),
            await unit.relations.count(),
            await unit.relations.page(limit=99),
            await unit.relations.page(after=words[0], limit=1),
            [await unit.relations.of(word) for word in words],
            [list((await unit.relations.related(word, depth=3)).items()) for word in words],
        ],
    }


async def _facts(unit: UnitOfWork, make: SimpleNamespace, words: Sequence[str]) -> dict[str, Any]:
    mean = await unit.facts.get_avg_confidence(status=None)
    return {
        "facts": [
            await unit.facts.get_many(words),
            await unit.facts.page(limit=99),
            await unit.facts.list(),
            await unit.facts.count(status=None),
            await unit.facts.list_duplicates(),
            await unit.facts.list_distinct_categories(status=None),
            await unit.facts.list_all_ids(status=None),
            await unit.facts.list_old_low_confidence(recorded_before=make.at(3), below=0.5),
            await unit.facts.get_stats_by_status(),
            None if mean is None else round(mean, 9),
        ],
        "facts by word": [
            (
                await unit.facts.get(word),
                await unit.facts.list(category=word, status=None),
                await unit.facts.find_potential_conflicts(word, "喜歡", exclude_id="a"),
                await unit.facts.history(word, "喜歡"),
                await unit.facts.history(word, "喜歡", limit=1),
                await unit.facts.stating(word, "喜歡", words),
                await unit.facts.stated_in([word]),
                await unit.facts.list(behind=(make.at(2), word)),
            )
            for word in words
        ],
    }


async def _categories(unit: UnitOfWork, make: SimpleNamespace, words: Sequence[str]) -> dict[str, Any]:
    return {
        "categories": [
            await unit.categories.list(),
            await unit.categories.count_items_per_category(status=None),
        ],
        "accesses": [
            await unit.category_accesses.list(),
            await unit.category_accesses.count_since(make.at(2)),
            await unit.category_accesses.last_accessed(),
        ],
    }


async def _graph(unit: UnitOfWork) -> dict[str, Any]:
    return {
        "graph": [
            await unit.graph.list_all(),
            await unit.graph.count(),
        ]
    }


async def _changes(unit: UnitOfWork, make: SimpleNamespace, words: Sequence[str]) -> dict[str, Any]:
    found = [
        await unit.changes.get(words),
        await unit.changes.list(),
        await unit.changes.page(limit=99),
        await unit.changes.list(kind=ChangeKind.MERGE),
        *[await unit.changes.list(subject=word) for word in words],
    ]
    typed = [
        await unit.typed_memories.get(words),
        await unit.typed_memories.page(limit=99),
        await unit.typed_memories.page(after=words[0], limit=1, status=MemoryStatus.REVIEW),
        *[await unit.typed_memories.page(limit=9, entity_type=word) for word in words],
    ]
    return {"typed_memories": typed} | {
        "changes": [[change.model_copy(update={"sequence": 0}) for change in page] for page in found]
    }


async def _stored_items(unit: UnitOfWork, make: SimpleNamespace, words: Sequence[str]) -> dict[str, Any]:
    labels = [_label(word) for word in words if word] or ["empty"]
    return {
        f"items of {collection.value}": [
            await unit.items.page(collection, limit=99),
            [await unit.items.page(collection, order=order, prefix=labels[:1], limit=99) for order in ItemOrder],
            await unit.items.get([ItemPlace(collection, (label,), _label(word)) for label in labels for word in words]),
            await unit.items.namespaces(collection, at=make.at(4)),
        ]
        for collection in ItemCollection
    }
