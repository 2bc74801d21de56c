"""What every system of record does with facts (`memory.ports.stores.facts.FactRepository`)."""

from collections.abc import Iterable
from datetime import timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest

from memory.ports.stores.record import SystemOfRecord
from memory.values.errors import InvalidField, NotFound
from memory.values.facts import Fact, FactStatus

TAIPEI = timezone(timedelta(hours=8))
ACTIVE, ARCHIVED, DELETED = FactStatus.ACTIVE, FactStatus.ARCHIVED, FactStatus.DELETED


def ids(facts: Iterable[Fact]) -> list[str]:
    return [fact.fact_id for fact in facts]


class TestCreate:
    async def test_a_fact_comes_back_as_it_was(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        written = make.fact(
            "f",
            subject="王　小明",
            predicate="喜歡",
            object="It's 100%_臺灣\x00 茶",
            confidence=0.1 + 0.2,
            status=ARCHIVED,
            supersedes="e",
            valid_from=make.at(-1.000001),
            valid_to=make.at(2).astimezone(TAIPEI),
            recorded_at=make.at(0.123456),
        )
        async with record.writing(user_id="ann") as unit:
            assert await unit.facts.create_many([written]) == ["f"]
            assert await unit.facts.get("f") == written
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            assert await unit.facts.get("f") == written
            assert await unit.facts.get("none") is None

    async def test_get_many_keeps_the_order_of_the_ids_and_takes_any_number(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        names = [str(n) for n in range(1200)]
        async with record.writing(user_id="ann") as unit:
            assert await unit.facts.create_many([make.fact(name) for name in names]) == names
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            assert ids(await unit.facts.get_many([*names[::-1], "none"])) == names[::-1]
            assert await unit.facts.get_many([]) == []

    async def test_a_fact_that_is_there_is_left_as_it_is(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        first, other = make.fact("f", object="first"), make.fact("g")
        await make.save(record, facts=[first])
        async with record.writing(user_id="ann") as unit:
            given = [make.fact("f", object="second"), other, make.fact("g", object="twice")]
            assert await unit.facts.create_many(given) == ["f", "g", "g"]
            assert await unit.facts.create_many([]) == []
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            assert await unit.facts.get_many(["f", "g"]) == [first, other]

    async def test_facts_of_another_user_are_refused_and_nothing_is_stored(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        async with record.writing(user_id="ann") as unit:
            with pytest.raises(InvalidField):
                await unit.facts.create_many([make.fact("mine"), make.fact("theirs", user_id="bob")])
            with pytest.raises(InvalidField):
                await unit.facts.update(make.fact("theirs", user_id="bob"))
            await unit.commit()
        assert (await record.backlog.counts())["facts"] == 0

    async def test_a_unit_that_is_left_changes_nothing(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await make.save(record, facts=[make.fact("f")])
        async with record.writing(user_id="ann") as unit:
            await unit.facts.update(make.fact("f", object="else"))
            await unit.facts.create_many([make.fact("g")])
            await unit.facts.update_status("f", DELETED, now=make.at(1))
            await unit.rollback()
        async with record.reading(user_id="ann") as unit:
            assert await unit.facts.page(limit=9) == [make.fact("f")]


class TestUpdate:
    async def test_a_fact_is_replaced_in_everything_that_it_is_found_by(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(record, facts=[make.fact("f", supersedes="x")])
        new = make.fact(
            "f", subject="你", predicate="住在", category="facts", status=ARCHIVED, supersedes="y", confidence=0.5
        )
        async with record.writing(user_id="ann") as unit:
            await unit.facts.update(new)
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            assert await unit.facts.list() == []
            assert await unit.facts.list(status=None, category="facts") == [new]
            assert await unit.facts.list(status=None, category="preferences") == []
            assert await unit.facts.find_potential_conflicts("我", "喜歡") == []
            assert await unit.facts.get_avg_confidence(status=None) == 0.5

    async def test_what_is_not_there_cannot_be_updated(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await make.save(record, facts=[make.fact("theirs")])
        async with record.writing(user_id="bob") as unit:
            with pytest.raises(NotFound):
                await unit.facts.update(make.fact("theirs", user_id="bob"))
            await unit.commit()
        async with record.reading(user_id="bob") as unit:
            assert await unit.facts.page(limit=9) == []

    @pytest.mark.parametrize("status", FactStatus)
    async def test_a_status_is_set_with_the_time_of_the_change(
        self, record: SystemOfRecord, make: SimpleNamespace, status: FactStatus
    ) -> None:
        await make.save(record, facts=[make.fact("f")])
        async with record.writing(user_id="ann") as unit:
            assert await unit.facts.update_status("f", status, now=make.at(3).astimezone(TAIPEI))
            assert not await unit.facts.update_status("none", status, now=make.at(3))
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            assert await unit.facts.list(status=status) == [make.fact("f", status=status, updated_at=make.at(3))]
            assert await unit.facts.count(status=None) == 1

    async def test_nobody_changes_the_status_of_anothers_fact(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(record, facts=[make.fact("f")])
        async with record.writing(user_id="bob") as unit:
            assert not await unit.facts.update_status("f", DELETED, now=make.at(1))
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            assert await unit.facts.list() == [make.fact("f")]

    async def test_a_time_without_a_zone_is_refused(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        naive = make.NOON.replace(tzinfo=None)
        async with record.writing(user_id="ann") as unit:
            for call in (
                unit.facts.update_status("f", ACTIVE, now=naive),
                unit.facts.list(behind=(naive, "f")),
                unit.facts.list_old_low_confidence(recorded_before=naive, below=1),
                unit.category_accesses.count_since(naive),
                unit.category_accesses.prune(before=naive),
                unit.log.delete_orphaned(created_before=naive),
            ):
                with pytest.raises(InvalidField, match="zone"):
                    await call


class TestList:
    @pytest.fixture
    async def several(self, record: SystemOfRecord, make: SimpleNamespace) -> SystemOfRecord:
        await make.save(
            record,
            facts=[
                make.fact("old", recorded_at=make.at(1), confidence=0.2),
                make.fact("b", recorded_at=make.at(2).astimezone(TAIPEI), category="goals", confidence=0.4),
                make.fact("a", recorded_at=make.at(2), confidence=0.5),
                make.fact("new", recorded_at=make.at(2.000001), confidence=0.9),
                make.fact("archived", recorded_at=make.at(9), status=ARCHIVED, category="goals", confidence=0.1),
                make.fact("deleted", recorded_at=make.at(8), status=DELETED, category="技能", confidence=0.0),
            ],
        )
        await make.save(record, user_id="bob", facts=[make.fact("theirs", user_id="bob", category="theirs")])
        return record

    async def test_facts_come_latest_first_then_by_id(self, several: SystemOfRecord) -> None:
        async with several.reading(user_id="ann") as unit:
            for wanted, query in (
                (["new", "a", "b", "old"], {}),
                (["new", "a"], {"limit": 2}),
                ([], {"limit": 0}),
                (["archived", "deleted", "new", "a", "b", "old"], {"status": None}),
                (["archived", "b"], {"status": None, "category": "goals"}),
                (["b"], {"category": "goals"}),
                (["archived"], {"status": ARCHIVED}),
                (["deleted"], {"status": DELETED, "category": "技能"}),
                ([], {"category": "theirs", "status": None}),
                ([], {"category": "%"}),
            ):
                assert ids(await unit.facts.list(**query)) == wanted
                if "limit" not in query:
                    assert await unit.facts.count(**query) == len(wanted)

    @pytest.mark.parametrize("query", [{}, {"status": None}, {"status": None, "category": "goals"}])
    async def test_a_list_goes_on_behind_any_place_in_its_order(
        self, several: SystemOfRecord, make: SimpleNamespace, query: dict[str, Any]
    ) -> None:
        async with several.reading(user_id="ann") as unit:
            whole = await unit.facts.list(**query)
            for index, fact in enumerate(whole):
                place = (fact.recorded_at.astimezone(TAIPEI), fact.fact_id)
                assert await unit.facts.list(**query, behind=place) == whole[index + 1 :]
                assert await unit.facts.list(**query, behind=place, limit=1) == whole[index + 1 : index + 2]
            assert ids(await unit.facts.list(behind=(make.at(2), "aa"))) == ["b", "old"], "no fact has this place"
            assert await unit.facts.list(**query, behind=(make.at(99), "")) == whole
            assert await unit.facts.list(**query, behind=(make.at(0), "z")) == []

    async def test_facts_are_paged_by_id_whatever_their_status(self, several: SystemOfRecord) -> None:
        async with several.reading(user_id="ann") as unit:
            seen: list[str] = []
            while page := await unit.facts.page(after=seen[-1] if seen else None, limit=4):
                seen += ids(page)
            assert seen == ["a", "archived", "b", "deleted", "new", "old"]
            assert await unit.facts.page(limit=0) == []

    async def test_ids_and_categories_come_sorted(self, several: SystemOfRecord) -> None:
        async with several.reading(user_id="ann") as unit:
            assert await unit.facts.list_all_ids() == ["a", "b", "new", "old"]
            assert await unit.facts.list_all_ids(status=ARCHIVED) == ["archived"]
            assert await unit.facts.list_all_ids(status=None) == ["a", "archived", "b", "deleted", "new", "old"]
            assert await unit.facts.list_distinct_categories() == ["goals", "preferences"]
            assert await unit.facts.list_distinct_categories(status=DELETED) == ["技能"]
            assert await unit.facts.list_distinct_categories(status=None) == ["goals", "preferences", "技能"]

    async def test_figures_are_of_one_status_or_of_all(self, several: SystemOfRecord) -> None:
        async with several.reading(user_id="ann") as unit:
            assert await unit.facts.get_stats_by_status() == {ACTIVE: 4, ARCHIVED: 1, DELETED: 1}
            assert await unit.facts.get_avg_confidence() == pytest.approx(0.5)
            assert await unit.facts.get_avg_confidence(status=ARCHIVED) == 0.1
            assert await unit.facts.get_avg_confidence(status=None) == pytest.approx(2.1 / 6)
            assert await unit.categories.count_items_per_category() == {"goals": 1, "preferences": 3}
            assert await unit.categories.count_items_per_category(status=ARCHIVED) == {"goals": 1}
            assert await unit.categories.count_items_per_category(status=None) == {
                "goals": 2,
                "preferences": 3,
                "技能": 1,
            }

    async def test_old_facts_of_low_confidence_are_active_and_strictly_below_both_limits(
        self, several: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        async with several.reading(user_id="ann") as unit:
            facts = unit.facts
            assert ids(await facts.list_old_low_confidence(recorded_before=make.at(9), below=0.5)) == ["b", "old"]
            assert ids(await facts.list_old_low_confidence(recorded_before=make.at(2), below=1)) == ["old"]
            assert ids(await facts.list_old_low_confidence(recorded_before=make.at(2.000001), below=1)) == [
                "a",
                "b",
                "old",
            ]
            assert await facts.list_old_low_confidence(recorded_before=make.at(9), below=0.2) == []

    async def test_a_user_without_facts_has_none_of_anything(self, several: SystemOfRecord) -> None:
        async with several.reading(user_id="eve") as unit:
            assert await unit.facts.list(status=None) == []
            assert await unit.facts.count(status=None) == 0
            assert await unit.facts.list_distinct_categories(status=None) == []
            assert await unit.facts.list_all_ids(status=None) == []
            assert await unit.facts.list_duplicates() == []
            assert await unit.facts.get_avg_confidence(status=None) is None
            assert await unit.facts.get_stats_by_status() == {ACTIVE: 0, ARCHIVED: 0, DELETED: 0}
            assert await unit.categories.count_items_per_category(status=None) == {}


class TestConflicts:
    @pytest.mark.parametrize(
        ("subject", "predicate"),
        [("宏康 HCI", "位於"), ("宏康HCI", "位于"), ("宏康　ＨＣＩ", "位於"), (" 宏康 hci ", "位於 ")],
    )
    async def test_conflicts_are_found_by_any_spelling(
        self, record: SystemOfRecord, make: SimpleNamespace, subject: str, predicate: str
    ) -> None:
        names = {"subject": "宏康 HCI", "predicate": "位於"}
        await make.save(
            record,
            facts=[
                make.fact("old", **names, recorded_at=make.at(1), object="台北"),
                make.fact("new", **names | {"predicate": "位于"}, recorded_at=make.at(2), object="高雄"),
                make.fact("archived", **names, status=ARCHIVED, recorded_at=make.at(0.5)),
                make.fact("deleted", **names, status=DELETED),
                make.fact("other", **names | {"subject": "宏碁"}),
                make.fact("another", **names | {"predicate": "成立於"}),
            ],
        )
        async with record.reading(user_id="ann") as unit:
            facts = unit.facts
            assert ids(await facts.find_potential_conflicts(subject, predicate)) == ["new", "old"]
            assert ids(await facts.find_potential_conflicts(subject, predicate, exclude_id="new")) == ["old"]
            assert ids(await facts.find_potential_conflicts(subject, predicate, exclude_id="none")) == ["new", "old"]
            assert ids(await facts.history(subject, predicate)) == ["new", "old", "archived"]
            assert [ids(await facts.history(subject, predicate, limit=limit)) for limit in (2, 0)] == [
                ["new", "old"],
                [],
            ]
        async with record.reading(user_id="bob") as unit:
            assert await unit.facts.find_potential_conflicts(subject, predicate) == []

    async def test_facts_of_any_status_but_deleted_are_found_by_any_spelling_of_what_they_state(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        names = {"subject": "小明", "predicate": "喜歡"}
        await make.save(
            record,
            facts=[
                make.fact("tea", **names, recorded_at=make.at(1), object="臺灣 Tea"),
                make.fact("again", **names, recorded_at=make.at(3), object="臺灣　ｔｅａ", status=ARCHIVED),
                make.fact("milk", **names, recorded_at=make.at(2), object="milk"),
                make.fact("deleted", **names, object="milk", status=DELETED),
                make.fact("coffee", **names, object="coffee"),
                make.fact("hers", **names | {"subject": "小美"}, object="milk"),
                make.fact("drunk", **names | {"predicate": "喝"}, object="milk"),
            ],
        )
        async with record.reading(user_id="ann") as unit:
            stating = unit.facts.stating
            assert ids(await stating("小明", "喜欢", ["台湾 TEA", "Milk", "none"])) == ["again", "milk", "tea"]
            assert await stating("小明", "喜歡", ["%", "tea"]) == []
            assert await stating("小明", "喜歡", []) == []
        async with record.reading(user_id="bob") as unit:
            assert await unit.facts.stating("小明", "喜歡", ["milk"]) == []

    async def test_facts_are_found_by_the_entries_that_stated_them(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(
            record,
            facts=[
                make.fact("a", resource_id="r1", recorded_at=make.at(1)),
                make.fact("b", resource_id="r1", recorded_at=make.at(2), status=ARCHIVED, object="b"),
                make.fact("c", resource_id="r2", recorded_at=make.at(3), object="c"),
                make.fact("d", resource_id="r1", recorded_at=make.at(4), status=DELETED, object="d"),
                make.fact("e", resource_id="r3", evidence=("r1",), recorded_at=make.at(5), object="e"),
            ],
        )
        async with record.reading(user_id="ann") as unit:
            assert ids(await unit.facts.stated_in(["r1", "r2", "none"])) == ["c", "b", "a"]
            assert await unit.facts.stated_in([]) == []
        async with record.reading(user_id="bob") as unit:
            assert await unit.facts.stated_in(["r1"]) == []

    @pytest.mark.parametrize("pattern", ["%", "_", "*", "宏%", ".*", ""])
    async def test_names_are_no_patterns(self, record: SystemOfRecord, make: SimpleNamespace, pattern: str) -> None:
        await make.save(record, facts=[make.fact("f", subject="宏", predicate="是")])
        async with record.reading(user_id="ann") as unit:
            assert await unit.facts.find_potential_conflicts(pattern, pattern) == []
            assert await unit.facts.history(pattern, pattern) == []
            assert await unit.facts.stating("宏", "是", [pattern]) == []


class TestDuplicates:
    async def test_duplicates_say_the_same_in_any_spelling_oldest_first(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        def tea(name: str, seconds: float, subject: str = "小明", **fields: str) -> object:
            fields = {"subject": subject, "predicate": "喜歡", "object": "臺灣 Tea"} | fields
            return make.fact(name, recorded_at=make.at(seconds), **fields)

        await make.save(
            record,
            facts=[
                tea("z", 1),
                tea("c", 3, object="臺灣　ｔｅａ"),
                tea("b", 3, predicate="喜欢"),
                tea("archived", 0, status=ARCHIVED),
                tea("other", 0, object="臺灣 coffee"),
                tea("n", 5, subject="小華"),
                tea("m", 6, subject="小华"),
            ],
        )
        theirs = [tea(name, 2, user_id="bob") for name in ("b", "theirs")]
        await make.save(record, user_id="bob", facts=[*theirs, tea("single", 0, subject="bob", user_id="bob")])
        async with record.reading(user_id="ann") as unit:
            groups = await unit.facts.list_duplicates()
            assert [ids(group) for group in groups] == [["n", "m"], ["z", "b", "c"]]
            assert isinstance(groups[0], tuple)
