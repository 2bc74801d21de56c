"""What every system of record does with typed memories, with accesses and with runs of jobs."""

from datetime import timedelta, timezone
from types import SimpleNamespace

import pytest

from memory.ports.stores.record import SystemOfRecord
from memory.ports.stores.repositories import Access
from memory.ports.stores.vectors import Collection
from memory.values.errors import InvalidField
from memory.values.typed_memories import MemoryPriority, MemoryStatus, MemoryType
from memory.values.understanding.readings import Qualifier

TAIPEI = timezone(timedelta(hours=8))


async def _save(record: SystemOfRecord, *memories: object, user_id: str = "ann") -> None:
    async with record.writing(user_id=user_id) as unit:
        await unit.typed_memories.save(memories)  # type: ignore[arg-type]
        await unit.commit()


class TestTypedMemories:
    async def test_a_memory_comes_back_as_it_was(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        written = make.typed_memory(
            "part_number",
            "RM05-008 100%_'",
            memory_id="m",
            content="the part RM05-008",
            memory_type=MemoryType.SHORT_TERM,
            priority=MemoryPriority.HIGH,
            metadata={"a": 1, "b": 1.5, "c": None, "d": True, "e": "臺灣"},
            sources=("r1", "r2"),
            accessed_at=make.at(0.5).astimezone(TAIPEI),
            access_count=3,
            confidence=0.1 + 0.2,
            status=MemoryStatus.REVIEW,
            review_reason="old",
            conflicts_with=("x",),
            supersedes=("y", "w"),
            superseded_by="z",
            version=4,
        )
        await _save(record, make.typed_memory("part_number", "old", memory_id="m"), written)
        async with record.reading(user_id="ann") as unit:
            assert await unit.typed_memories.get(["none", "m", "m"]) == [written, written]
            assert await unit.typed_memories.page(limit=9) == [written]

    async def test_pages_are_by_id_of_a_type_and_a_status(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        review = MemoryStatus.REVIEW
        await _save(
            record,
            make.typed_memory("x", "1", memory_id="c"),
            make.typed_memory("x", "2", memory_id="a", status=review),
            make.typed_memory("é", "3", memory_id="B"),
            make.typed_memory("e\u0301", "4", memory_id="b", status=review),
        )
        async with record.reading(user_id="ann") as unit:
            for conditions, wanted in (
                ({"limit": 9}, "Babc"),
                ({"limit": 2}, "Ba"),
                ({"limit": 2, "after": "a"}, "bc"),
                ({"limit": 0}, ""),
                ({"limit": 9, "entity_type": "x"}, "ac"),
                ({"limit": 9, "entity_type": "é"}, "B"),
                ({"limit": 9, "status": review}, "ab"),
                ({"limit": 9, "status": review, "entity_type": "x"}, "a"),
                ({"limit": 9, "status": review, "after": "a"}, "b"),
                ({"limit": 9, "entity_type": "X"}, ""),
            ):
                assert "".join([memory.memory_id for memory in await unit.typed_memories.page(**conditions)]) == wanted

    async def test_saving_is_queued_for_the_index(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await _save(record, make.typed_memory("t", "1", memory_id="1"), make.typed_memory("t", "2", memory_id="2"))
        waiting = await record.backlog.outbox(limit=9)
        assert [(entry.collection, entry.item_id) for entry in waiting] == [
            (Collection.FACTS, "1"),
            (Collection.FACTS, "2"),
        ]

    async def test_everybody_has_memories_of_their_own(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        for user in ("ann", "bob"):
            await _save(record, make.typed_memory("t", user, user_id=user, memory_id="m"), user_id=user)
        async with record.writing(user_id="bob") as unit:
            with pytest.raises(InvalidField):
                await unit.typed_memories.save([make.typed_memory("t", "v")])
        async with record.reading(user_id="ann") as unit:
            assert [entity.entity_value for entity in await unit.typed_memories.get(["m"])] == ["ann"]

    async def test_a_fact_is_a_memory_with_its_sources_and_one_kind_of_thing_with_it(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        stated = {"subject": "user", "predicate": "allergic_to", "object": "花生"}
        allergy = make.fact("f", resource_id="r1", evidence=("r2",), **stated)
        denied = make.fact("g", qualifiers=(Qualifier.NEGATED,), **stated)
        planned = make.fact("h", qualifiers=(Qualifier.PLANNED,), **stated)
        await make.save(record, facts=[allergy, denied, planned])
        async with record.writing(user_id="ann") as unit:
            [memory] = await unit.typed_memories.page(limit=9)
            assert [memory] == await unit.typed_memories.find("allergy", "花生")
            assert (memory.memory_id, memory.entity_type, memory.entity_value) == ("f", "allergy", "花生")
            assert (memory.content, memory.sources) == ("使用者對花生過敏。", ("r1", "r2"))
            assert (memory.confidence, memory.status) == (allergy.confidence, MemoryStatus.ACTIVE)
            archived = memory.model_copy(update={"status": MemoryStatus.ARCHIVED, "version": 2})
            await unit.typed_memories.save([archived])
            await unit.commit()
        async with record.writing(user_id="ann") as unit:
            [fact] = await unit.facts.get_many(["f"])
            assert (fact.status, fact.ending, fact.subject, fact.evidence) == ("archived", None, "user", ("r2",))
            assert await unit.typed_memories.page(limit=9) == [archived]
            await unit.typed_memories.save([archived.model_copy(update={"status": MemoryStatus.ACTIVE, "version": 1})])
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            assert await unit.facts.get_many(["f"]) == [allergy]

    async def test_what_is_in_doubt_or_disputed_is_in_review_until_it_is_restored(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        doubtful = make.fact("a", doubtful_since=make.NOON, doubted_by="x")
        disputed = make.fact("b", conflicts_with=("a",))
        await make.save(record, facts=[doubtful, disputed])
        async with record.writing(user_id="ann") as unit:
            memories = await unit.typed_memories.page(limit=9, status=MemoryStatus.REVIEW)
            assert [memory.memory_id for memory in memories] == ["a", "b"]
            restored = {"status": MemoryStatus.ACTIVE, "review_reason": None, "conflicts_with": ()}
            await unit.typed_memories.save([memory.model_copy(update=restored) for memory in memories])
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            facts = await unit.facts.get_many(["a", "b"])
        assert [(fact.doubtful_since, fact.doubted_by, fact.conflicts_with) for fact in facts] == [(None, None, ())] * 2


class TestAccesses:
    async def test_accesses_add_up_and_the_clock_never_goes_back(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        fact = make.fact("i", confidence=0.4)
        await make.save(record, entities=[make.entity("e", entity_id="i")], memories=[make.memory("i")], facts=[fact])
        await _save(record, make.typed_memory("t", "v", memory_id="t", access_count=2))
        before = await record.backlog.outbox(limit=9)
        async with record.writing(user_id="ann") as unit:
            for repository, id_ in (
                (unit.entities, "i"),
                (unit.memories, "i"),
                (unit.typed_memories, "t"),
                (unit.facts, "i"),
            ):
                await repository.count_accesses([Access(id_, 2, make.at(9)), Access("none", 1, make.at(9))])
                await repository.count_accesses([Access(id_, 1, make.at(5).astimezone(TAIPEI))])
                await repository.count_accesses([])
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            [entity], [memory], [typed] = [
                await unit.entities.get(["i"]),
                await unit.memories.get(["i"]),
                await unit.typed_memories.get(["t"]),
            ]
            assert (entity.access_count, entity.accessed_at, entity.version) == (3, make.at(9), 1)
            assert (memory.access_count, memory.last_accessed_at) == (3, make.at(9))
            assert (typed.access_count, typed.accessed_at, typed.updated_at) == (5, make.at(9), make.NOON)
            used = fact.model_copy(update={"access_count": 3, "accessed_at": make.at(9)})
            assert await unit.facts.get_many(["i"]) == [used]
            assert await unit.entities.get_by_value("e") == entity
            assert await unit.entities.recent(limit=9) == [entity]
            assert await unit.memories.recent(limit=9) == [memory]
        assert await record.backlog.outbox(limit=9) == before

    async def test_nobody_counts_accesses_to_what_is_anothers(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await _save(record, make.typed_memory("t", "v", memory_id="i"))
        async with record.writing(user_id="bob") as unit:
            await unit.typed_memories.count_accesses([Access("i", 1, make.NOON)])
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            assert [memory.access_count for memory in await unit.typed_memories.get(["i"])] == [0]
