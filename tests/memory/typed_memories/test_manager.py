"""001's AAM manager: no duplicates, conflicts dealt with and reversible, the best memories first."""

import asyncio
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.entities.undo import undo
from memory.typed_memories.bands import FixedBand
from memory.typed_memories.conflicts import Resolution, list_conflicts
from memory.typed_memories.manager import StoreEvent
from memory.values.entities import raised_confidence
from memory.values.errors import InvalidField, NotFound
from memory.values.governance.changes import ChangeActor, ChangeKind
from memory.values.hits import CosineBounds
from memory.values.typed_memories import MemoryPriority, MemoryStatus, MemoryType, TypedMemory
from tests.memory.typed_memories.harness import NOW, TypedMemories, said_of_allergy

confidences = st.floats(0, 1)


class TestFields:
    def test_a_memory_has_the_fields_and_defaults_of_001(self) -> None:
        memory = TypedMemory(memory_id="m", user_id="ann", content="c", created_at=NOW, updated_at=NOW)
        assert memory.memory_type is MemoryType.LONG_TERM
        assert memory.priority is MemoryPriority.MEDIUM
        assert memory.metadata == {}
        assert memory.accessed_at is None
        assert (memory.access_count, memory.relevance_score, memory.confidence) == (0, 0.0, 0.5)
        assert (memory.entity_type, memory.entity_value, memory.status) == ("", "", "active")
        assert [status.value for status in MemoryStatus] == ["active", "archived", "review"]

    def test_the_band_of_001_leaves_out_both_its_ends(self) -> None:
        band = FixedBand()
        assert [band.may_conflict(cosine) for cosine in (0.85, 0.8501, 0.9999, 1.0)] == [False, True, True, False]


class TestConfidence:
    @given(known=confidences, stated=confidences)
    def test_agreement_never_makes_less_sure_and_never_more_than_certain(self, known: float, stated: float) -> None:
        assert max(known, stated) <= raised_confidence(known, stated) <= 1.0
        assert raised_confidence(known, stated) == raised_confidence(stated, known)

    @given(known=confidences, stated=confidences, more=confidences)
    def test_the_surer_the_other_the_surer_the_result(self, known: float, stated: float, more: float) -> None:
        low, high = sorted((stated, more))
        assert raised_confidence(known, low) <= raised_confidence(known, high)

    def test_each_repetition_closes_a_tenth_of_the_gap(self) -> None:
        assert raised_confidence(0.5, 0.5) == pytest.approx(0.55)
        assert raised_confidence(0.55, 0.5) == pytest.approx(0.595)


class TestDuplicates:
    async def test_a_new_value_is_created_and_the_same_again_updates_it(self, typed_memories: TypedMemories) -> None:
        first = await typed_memories.store("RM05-008", 0.6, type_="part_number", metadata={"a": 1, "b": 1})
        typed_memories.later(hours=1)
        second = await typed_memories.store("ｒｍ０５-008", 0.5, type_="part_number", metadata={"b": 2})
        assert (first.event, second.event) == (StoreEvent.CREATED, StoreEvent.UPDATED)
        [memory] = (await typed_memories.all()).values()
        assert memory == second.memory
        assert memory.confidence == pytest.approx(0.64)
        assert memory.metadata == {"a": 1, "b": 2}
        assert (memory.access_count, memory.accessed_at, memory.updated_at) == (
            1,
            typed_memories.now,
            typed_memories.now,
        )
        assert (memory.entity_value, memory.created_at, memory.version) == ("RM05-008", NOW, 2)

    async def test_types_and_users_have_memories_of_their_own(self, typed_memories: TypedMemories) -> None:
        ids = {
            (await typed_memories.store("101", type_=type_, user=user)).memory.memory_id
            for type_ in ("tlf19", "room")
            for user in ("ann", "bob")
        }
        assert len(ids) == 4
        assert await typed_memories.manager.find_by_exact_match("tlf19", "１０１", user_id="ann") is not None
        assert await typed_memories.manager.find_by_exact_match("TLF19", "101", user_id="ann") is None
        assert await typed_memories.manager.find_by_exact_match("tlf19", "101", user_id="carl") is None

    async def test_64_at_once_are_one_memory_with_an_exact_count(self, typed_memories: TypedMemories) -> None:
        await asyncio.gather(*(typed_memories.store("RM05-008", type_="part_number") for _ in range(64)))
        [memory] = (await typed_memories.all()).values()
        assert (memory.access_count, memory.version) == (63, 64)

    async def test_what_was_archived_comes_back_when_it_is_said_again(self, typed_memories: TypedMemories) -> None:
        stored = (await typed_memories.store("喜歡黑咖啡")).memory
        await typed_memories.manager.archive_memory(stored.memory_id, user_id="ann")
        again = (await typed_memories.store("喜歡黑咖啡")).memory
        assert (again.status, again.access_count) == (MemoryStatus.ACTIVE, 1)
        async with typed_memories.record.reading(user_id="ann") as unit:
            [restored, archived] = await unit.changes.list(subject=stored.memory_id)
        assert (restored.kind, restored.actor) == (ChangeKind.RESTORE, ChangeActor.SYSTEM)
        assert (archived.kind, archived.actor) == (ChangeKind.ARCHIVE, ChangeActor.USER)


OLD, NEW = "喜歡喝黑咖啡", "平常愛喝拿鐵"


class TestConflicts:
    async def test_a_surer_value_takes_the_place_of_the_old_one_which_is_kept_and_linked(
        self, typed_memories: TypedMemories
    ) -> None:
        typed_memories.encoder.alike(OLD, NEW)
        old = (await typed_memories.store(OLD, 0.6)).memory
        stored = await typed_memories.store(NEW, 0.9)
        [conflict] = stored.conflicts
        assert (conflict.existing, conflict.resolution) == (old, Resolution.OVERWRITE)
        assert conflict.similarity == pytest.approx(0.95, abs=1e-3)
        memories = await typed_memories.all()
        assert (memories[NEW].status, memories[NEW].supersedes) == (MemoryStatus.ACTIVE, (old.memory_id,))
        assert (memories[OLD].status, memories[OLD].superseded_by) == (MemoryStatus.ARCHIVED, memories[NEW].memory_id)
        assert memories[OLD].confidence == 0.6
        async with typed_memories.record.reading(user_id="ann") as unit:
            [change] = await unit.changes.list()
        assert (change.kind, change.actor) == (ChangeKind.OVERWRITE, ChangeActor.SYSTEM)
        assert {OLD, NEW} <= {item.before["entity_value"] for item in change.items if item.before}

    @pytest.mark.parametrize("indexed", [True, False])
    async def test_conflicts_are_found_whether_or_not_the_index_has_seen_them(
        self, typed_memories: TypedMemories, indexed: bool
    ) -> None:
        typed_memories.encoder.alike(OLD, NEW)
        await typed_memories.store(OLD, 0.6)
        if indexed:
            await typed_memories.project()
        [conflict] = await typed_memories.manager.detect_conflicts("preference", NEW, 0.9, user_id="ann")
        assert conflict.existing.entity_value == OLD
        assert (conflict.new_value, conflict.new_confidence) == (NEW, 0.9)
        assert await typed_memories.manager.detect_conflicts("intent", NEW, 0.9, user_id="ann") == []
        assert await typed_memories.manager.detect_conflicts("preference", NEW, 0.9, user_id="bob") == []
        assert set(await typed_memories.all()) == {OLD}

    @pytest.mark.parametrize(("cosine", "found"), [(0.84, 0), (0.86, 1), (0.99, 1)])
    async def test_only_cosines_in_the_band_are_conflicts(
        self, typed_memories: TypedMemories, cosine: float, found: int
    ) -> None:
        typed_memories.encoder.cosine = cosine
        typed_memories.encoder.alike(OLD, NEW)
        await typed_memories.store(OLD, 0.6)
        assert len((await typed_memories.store(NEW, 0.9)).conflicts) == found

    async def test_an_overwrite_is_undone_and_the_new_value_waits_in_review(
        self, typed_memories: TypedMemories
    ) -> None:
        typed_memories.encoder.alike(OLD, NEW)
        await typed_memories.store(OLD, 0.6)
        await typed_memories.store(NEW, 0.9)
        await typed_memories.store(NEW, 0.5)  # said again meanwhile
        async with typed_memories.record.reading(user_id="ann") as unit:
            [change] = await unit.changes.list(kind=ChangeKind.OVERWRITE)
        await undo(typed_memories.record, change.change_id, user_id="ann", at=typed_memories.now)
        memories = await typed_memories.all()
        assert (memories[OLD].status, memories[OLD].superseded_by) == (MemoryStatus.ACTIVE, None)
        assert (memories[NEW].status, memories[NEW].supersedes) == (MemoryStatus.REVIEW, ())
        assert memories[NEW].conflicts_with == (memories[OLD].memory_id,)
        assert memories[NEW].confidence == pytest.approx(0.91)
        await typed_memories.project()
        assert await typed_memories.indexed() == {OLD, NEW}

    @pytest.mark.parametrize("confidence", [0.6, 0.3])
    async def test_a_value_that_is_not_surer_is_kept_in_review_beside_the_old_one(
        self, typed_memories: TypedMemories, confidence: float
    ) -> None:
        typed_memories.encoder.alike(OLD, NEW)
        old = (await typed_memories.store(OLD, 0.6)).memory
        stored = await typed_memories.store(NEW, confidence)
        assert [conflict.resolution for conflict in stored.conflicts] == [Resolution.REVIEW]
        memories = await typed_memories.all()
        assert memories[OLD] == old
        assert (memories[NEW].status, memories[NEW].conflicts_with) == (MemoryStatus.REVIEW, (old.memory_id,))
        assert OLD in (memories[NEW].review_reason or "")

    async def test_a_disputed_value_that_becomes_the_surer_one_wins(self, typed_memories: TypedMemories) -> None:
        typed_memories.encoder.alike(OLD, NEW)
        await typed_memories.store(OLD, 0.6)
        await typed_memories.store(NEW, 0.5)
        stored = await typed_memories.store(NEW, 0.8)
        assert stored.memory.status is MemoryStatus.ACTIVE
        assert (await typed_memories.all())[OLD].superseded_by == stored.memory.memory_id

    async def test_an_overwritten_value_that_is_said_again_comes_back_only_where_it_is_the_surer_one(
        self, typed_memories: TypedMemories
    ) -> None:
        typed_memories.encoder.alike(OLD, NEW)
        await typed_memories.store(OLD, 0.6)
        await typed_memories.store(NEW, 0.9)
        weak = await typed_memories.store(OLD, 0.7)
        assert weak.memory.status is MemoryStatus.ARCHIVED
        assert weak.memory.confidence == pytest.approx(0.73)
        strong = await typed_memories.store(OLD, 0.95)
        memories = await typed_memories.all()
        assert (memories[OLD].status, memories[OLD].superseded_by) == (MemoryStatus.ACTIVE, None)
        assert (memories[NEW].status, memories[NEW].superseded_by) == (MemoryStatus.ARCHIVED, strong.memory.memory_id)

    async def test_identifiers_are_never_overwritten_by_similarity(self, typed_memories: TypedMemories) -> None:
        values = ["RM05-008", "RM05-009", "Room 101", "Room 102", "v2.3", "v2.4", "301室", "302室"]
        typed_memories.encoder.alike(*values)
        typed_memories.encoder.cosine = 0.99
        for confidence, value in enumerate(values, start=1):
            assert (await typed_memories.store(value, confidence / 10)).conflicts == ()
        assert {memory.status for memory in (await typed_memories.all()).values()} == {MemoryStatus.ACTIVE}

    async def test_values_of_a_type_that_has_many_are_never_overwritten_by_themselves(
        self, typed_memories: TypedMemories
    ) -> None:
        typed_memories.manager._many_valued = frozenset({"allergy"})
        peanuts, seafood = "peanuts and nuts", "all kinds of seafood"
        typed_memories.encoder.alike(*map(said_of_allergy, (peanuts, seafood)))
        await typed_memories.store(peanuts, 0.5, type_="allergy")
        stored = await typed_memories.store(seafood, 0.9, type_="allergy")
        assert [conflict.resolution for conflict in stored.conflicts] == [Resolution.REVIEW]
        memories = await typed_memories.all()
        assert (memories[peanuts].status, memories[seafood].status) == (MemoryStatus.ACTIVE, MemoryStatus.REVIEW)

    async def test_while_the_index_is_away_a_value_is_kept_and_the_reply_says_what_was_not_done(
        self, typed_memories: TypedMemories
    ) -> None:
        typed_memories.index.away = True
        stored = await typed_memories.store(NEW)
        assert (stored.event, stored.degraded, stored.memory.unchecked) == (StoreEvent.CREATED, ("conflicts",), True)
        assert set(await typed_memories.all()) == {NEW}

    async def test_what_could_not_be_checked_is_checked_when_it_is_said_again(
        self, typed_memories: TypedMemories
    ) -> None:
        typed_memories.encoder.alike(OLD, NEW)
        await typed_memories.store(OLD, 0.6)
        typed_memories.index.away = True
        await typed_memories.store(NEW, 0.9)
        typed_memories.index.away = False
        again = await typed_memories.store(NEW, 0.9)
        assert [conflict.existing.entity_value for conflict in again.conflicts] == [OLD]
        assert (again.memory.unchecked, (await typed_memories.all())[OLD].status) == (False, MemoryStatus.ARCHIVED)


class TestRetrieval:
    async def test_it_ranks_by_relevance_use_and_age_and_cuts_to_the_limit(self, typed_memories: TypedMemories) -> None:
        await typed_memories.put("red tea", confidence=0.9, access_count=0)
        await typed_memories.put("green tea", confidence=0.9, access_count=100)
        await typed_memories.put("black tea", confidence=0.9, access_count=500, updated_at=NOW - timedelta(days=365))
        await typed_memories.project()
        response = await typed_memories.manager.retrieve_entities("red tea", user_id="ann")
        by_value = {result.memory.entity_value: result for result in response.results}
        assert by_value["red tea"].final_score == pytest.approx(0.4 + 0.0 + 0.3)
        assert by_value["green tea"].parts["hotness"] == by_value["black tea"].parts["hotness"] == 1.0
        assert by_value["black tea"].parts["recency"] == 0.0
        scores = [result.final_score for result in response.results]
        assert scores == sorted(scores, reverse=True)
        assert by_value["red tea"].memory.relevance_score == 1.0
        assert len((await typed_memories.manager.retrieve_entities("tea", user_id="ann", limit=1)).results) == 1

    async def test_what_concerns_no_memory_is_relevant_to_none_and_is_no_use_of_it(
        self, typed_memories: TypedMemories
    ) -> None:
        await typed_memories.put(NEW, confidence=0.9)
        await typed_memories.project()
        [found] = (await typed_memories.manager.retrieve_entities("火星的質量是多少？", user_id="ann")).results
        assert found.parts["relevance"] < 0.1
        assert typed_memories.tally.pending == 0

    @pytest.mark.parametrize(("cosine", "relevance"), [(0.7, 0.0), (0.87, 0.5), (1.0, 1.0)])
    async def test_relevance_is_the_cosine_on_the_scale_of_its_encoder(
        self, typed_memories: TypedMemories, cosine: float, relevance: float
    ) -> None:
        query = "早上想喝點什麼"
        typed_memories.manager._retriever._evidence = CosineBounds(chinese=0.87)
        typed_memories.encoder.cosine = cosine
        typed_memories.encoder.alike(NEW, query)
        await typed_memories.put(NEW, confidence=0.9)
        await typed_memories.project()
        [found] = (await typed_memories.manager.retrieve_entities(query, user_id="ann")).results
        assert found.parts["relevance"] == pytest.approx(relevance, abs=0.2)

    async def test_by_default_five_that_are_at_least_0_7_sure(self, typed_memories: TypedMemories) -> None:
        for n in range(9):
            await typed_memories.put(f"tea number {n}", confidence=0.7 if n else 0.69)
        await typed_memories.project()
        response = await typed_memories.manager.retrieve_entities("tea", user_id="ann")
        assert len(response.results) == 5
        assert all(result.memory.confidence >= 0.7 for result in response.results)
        every = await typed_memories.manager.retrieve_entities("tea", user_id="ann", min_confidence=0.0, limit=9)
        assert len(every.results) == 9

    async def test_what_is_retrieved_is_counted_later_in_one_write(self, typed_memories: TypedMemories) -> None:
        await typed_memories.put("red tea", confidence=0.9)
        await typed_memories.project()
        for _ in range(3):
            await typed_memories.manager.retrieve_entities("red tea", user_id="ann")
            typed_memories.later(minutes=1)
        assert (await typed_memories.all())["red tea"].access_count == 0
        await typed_memories.tally.flush()
        memory = (await typed_memories.all())["red tea"]
        assert (memory.access_count, memory.accessed_at) == (3, NOW + timedelta(minutes=2))
        assert (memory.updated_at, memory.version) == (NOW, 1)
        await typed_memories.tally.flush()
        assert (await typed_memories.all())["red tea"].access_count == 3
        assert await typed_memories.record.backlog.outbox(limit=9) == []

    async def test_archived_ones_are_not_found_and_those_in_review_are(self, typed_memories: TypedMemories) -> None:
        for value, status in (("red tea", MemoryStatus.ARCHIVED), ("green tea", MemoryStatus.REVIEW)):
            await typed_memories.put(value, confidence=0.9, status=status)
        for _ in range(2):
            response = await typed_memories.manager.retrieve_entities("tea", user_id="ann")
            assert [result.memory.entity_value for result in response.results] == ["green tea"]
            await typed_memories.project()
        assert await typed_memories.indexed() == {"green tea"}

    async def test_a_value_in_the_query_is_fully_relevant_even_before_it_is_indexed(
        self, typed_memories: TypedMemories
    ) -> None:
        await typed_memories.put("RM05-008", confidence=0.9, type_="part_number")
        response = await typed_memories.manager.retrieve_entities(
            "rm05-008 還有庫存嗎", user_id="ann", entity_type="part_number"
        )
        assert [result.parts["relevance"] for result in response.results] == [1.0]
        elsewhere = await typed_memories.manager.retrieve_entities("rm05-008", user_id="ann", entity_type="intent")
        assert elsewhere.results == ()

    async def test_while_the_index_is_away_what_waits_is_found_and_the_reply_says_so(
        self, typed_memories: TypedMemories
    ) -> None:
        await typed_memories.put("red tea", confidence=0.9)
        typed_memories.index.away = True
        response = await typed_memories.manager.retrieve_entities("red tea", user_id="ann")
        assert response.degraded == ("vector", "keyword")
        assert [result.memory.entity_value for result in response.results] == ["red tea"]

    async def test_nobody_finds_what_is_anothers(self, typed_memories: TypedMemories) -> None:
        await typed_memories.put("red tea", confidence=0.9)
        await typed_memories.project()
        response = await typed_memories.manager.retrieve_entities("red tea", user_id="bob")
        assert response.results == ()

    @pytest.mark.parametrize(("field", "value"), [("limit", 0), ("limit", 101), ("min_confidence", 1.1)])
    async def test_bounds_are_named(self, typed_memories: TypedMemories, field: str, value: float) -> None:
        with pytest.raises(InvalidField) as caught:
            await typed_memories.manager.retrieve_entities("tea", user_id="ann", **{field: value})  # type: ignore[arg-type]
        assert caught.value.field == field


class TestStatuses:
    async def test_archive_review_and_restore_by_id_each_leave_a_change(self, typed_memories: TypedMemories) -> None:
        id_ = (await typed_memories.store("red tea")).memory.memory_id
        manager = typed_memories.manager
        assert (await manager.mark_for_review(id_, user_id="ann", reason="old")).review_reason == "old"
        assert (await manager.archive_memory(id_, user_id="ann")).status is MemoryStatus.ARCHIVED
        assert (await manager.archive_memory(id_, user_id="ann")).version == 3
        restored = await manager.restore_memory(id_, user_id="ann")
        assert (restored.status, restored.review_reason, restored.access_count) == (MemoryStatus.ACTIVE, None, 1)
        async with typed_memories.record.reading(user_id="ann") as unit:
            kinds = [change.kind for change in await unit.changes.list(subject=id_)]
        assert kinds == [ChangeKind.RESTORE, ChangeKind.ARCHIVE, ChangeKind.REVIEW]
        with pytest.raises(NotFound):
            await manager.archive_memory(id_, user_id="bob")

    async def test_archiving_one_side_closes_a_conflict_and_undoing_that_opens_it(
        self, typed_memories: TypedMemories
    ) -> None:
        typed_memories.encoder.alike(OLD, NEW)
        old = (await typed_memories.store(OLD, 0.6)).memory
        await typed_memories.store(NEW, 0.5)
        assert (await typed_memories.all())[NEW].status is MemoryStatus.REVIEW
        await typed_memories.manager.archive_memory(old.memory_id, user_id="ann")
        new = (await typed_memories.all())[NEW]
        assert (new.status, new.conflicts_with, new.review_reason) == (MemoryStatus.ACTIVE, (), None)
        async with typed_memories.record.reading(user_id="ann") as unit:
            assert (await list_conflicts(unit, limit=9)).open == ()
            [change] = await unit.changes.list(kind=ChangeKind.ARCHIVE)
        await undo(typed_memories.record, change.change_id, user_id="ann", at=typed_memories.now)
        memories = await typed_memories.all()
        assert (memories[OLD].status, memories[NEW].status) == (MemoryStatus.ACTIVE, MemoryStatus.REVIEW)

    async def test_a_conflict_with_several_stays_open_while_one_of_them_stands(
        self, typed_memories: TypedMemories
    ) -> None:
        other = "最愛喝的是烏龍茶"
        olds = [await typed_memories.put(value, confidence=0.6) for value in (OLD, other)]
        await typed_memories.put(
            NEW, status=MemoryStatus.REVIEW, conflicts_with=tuple(memory.memory_id for memory in olds)
        )
        await typed_memories.manager.archive_memory(olds[0].memory_id, user_id="ann")
        new = (await typed_memories.all())[NEW]
        assert (new.status, new.conflicts_with) == (MemoryStatus.REVIEW, (olds[1].memory_id,))
        assert OLD not in (new.review_reason or "")

    async def test_restoring_what_was_overwritten_opens_the_conflict_again(self, typed_memories: TypedMemories) -> None:
        typed_memories.encoder.alike(OLD, NEW)
        old = (await typed_memories.store(OLD, 0.6)).memory
        await typed_memories.store(NEW, 0.9)
        restored = await typed_memories.manager.restore_memory(old.memory_id, user_id="ann")
        assert (restored.status, restored.superseded_by) == (MemoryStatus.ACTIVE, None)
        new = (await typed_memories.all())[NEW]
        assert (new.status, new.conflicts_with) == (MemoryStatus.REVIEW, (old.memory_id,))
        async with typed_memories.record.reading(user_id="ann") as unit:
            [conflict] = (await list_conflicts(unit, limit=9)).open
        assert [memory.entity_value for memory in conflict.contradicts] == [OLD]

    async def test_lists_are_by_type_and_status(self, typed_memories: TypedMemories) -> None:
        for value in ("a", "b", "c"):
            await typed_memories.put(value, type_="t")
        await typed_memories.put("d", status=MemoryStatus.REVIEW)
        manager = typed_memories.manager
        assert len(await manager.get_user_entities(user_id="ann")) == 4
        assert len(await manager.get_user_entities(user_id="ann", entity_type="t")) == 3
        first = await manager.get_user_entities(user_id="ann", limit=2)
        rest = await manager.get_user_entities(user_id="ann", after=first[-1].memory_id)
        assert len({memory.memory_id for memory in (*first, *rest)}) == 4
        review = await manager.get_user_entities(user_id="ann", status=MemoryStatus.REVIEW)
        assert [memory.entity_value for memory in review] == ["d"]

    async def test_what_is_rarely_used_and_what_may_be_stale_is_listed(self, typed_memories: TypedMemories) -> None:
        old, older = NOW - timedelta(days=91), NOW - timedelta(days=181)
        await typed_memories.put("cold", created_at=old, updated_at=old, access_count=3)
        await typed_memories.put("warm", created_at=old, updated_at=old, access_count=4)
        await typed_memories.put("young", access_count=0)
        await typed_memories.put("stale", created_at=older, updated_at=older, access_count=9, accessed_at=NOW)
        low = await typed_memories.manager.find_low_hotness(user_id="ann")
        assert [memory.entity_value for memory in low] == ["cold"]
        low = await typed_memories.manager.find_low_hotness(user_id="ann", max_access=4, older_than_days=90)
        assert sorted(memory.entity_value for memory in low) == ["cold", "warm"]
        assert await typed_memories.manager.find_low_hotness(user_id="ann", older_than_days=92) == []
        stale = await typed_memories.manager.find_potentially_stale(user_id="ann")
        assert [memory.entity_value for memory in stale] == ["stale"]
        assert await typed_memories.manager.find_potentially_stale(user_id="ann", days=182) == []
