"""Operations of AQL (manual, "High-level operations") and what makes a query fail before it runs."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from arango.database import StandardDatabase

from tests.testing.arango_standin.conftest import failure

Run = Callable[..., list[Any]]

PEOPLE = [
    {"_key": "ann", "age": 30, "city": "Paris"},
    {"_key": "bob", "age": 20, "city": "Rome"},
    {"_key": "eve", "age": 40, "city": "Paris"},
    {"_key": "tom", "city": "Rome"},
]


@pytest.fixture
def people(run: Run) -> Run:
    run("FOR p IN @people INSERT p INTO users", people=PEOPLE)
    return run


class TestReading:
    def test_a_missing_attribute_is_null_and_null_is_less_than_every_number(self, people: Run) -> None:
        assert people("FOR u IN users FILTER u.age < 25 SORT u._key RETURN u._key") == ["bob", "tom"]
        assert people("FOR u IN users FILTER u.age == null RETURN u._key") == ["tom"]

    def test_sort_takes_several_keys_with_their_own_directions(self, people: Run) -> None:
        assert people("FOR u IN users SORT u.city, u.age DESC RETURN u._key") == ["eve", "ann", "bob", "tom"]

    def test_limit_takes_an_offset_first(self, people: Run) -> None:
        assert people("FOR u IN users SORT u._key LIMIT 1, @n RETURN u._key", n=2) == ["bob", "eve"]
        assert people("FOR u IN users SORT u._key LIMIT 2 RETURN u._key") == ["ann", "bob"]

    @pytest.mark.parametrize("limit", [-1, 1.5, "2", None, True])
    def test_limit_takes_whole_numbers_from_nought_only(self, people: Run, limit: Any) -> None:
        assert failure(lambda: people("FOR u IN users LIMIT @n RETURN 1", n=limit)) == (1504, 400)

    def test_scans_do_not_come_in_the_order_of_insertion(self, run: Run) -> None:
        run("FOR i IN 1..50 INSERT {_key: CONCAT('k', i), i} INTO users")
        numbers = run("FOR u IN users RETURN u.i")
        assert sorted(numbers) == list(range(1, 51))
        assert numbers != sorted(numbers)

    def test_return_distinct_gives_each_value_once(self, people: Run) -> None:
        assert sorted(people("FOR u IN users RETURN DISTINCT u.city")) == ["Paris", "Rome"]

    def test_subqueries_see_outer_variables_and_give_arrays(self, people: Run) -> None:
        query = """FOR city IN ['Paris', 'Rome']
            LET known = (FOR u IN users FILTER u.city == city SORT u._key RETURN u._key)
            RETURN {city, known, first: FIRST(FOR u IN users FILTER u.city == city SORT u.age DESC RETURN u._key)}"""
        assert people(query) == [
            {"city": "Paris", "known": ["ann", "eve"], "first": "eve"},
            {"city": "Rome", "known": ["bob", "tom"], "first": "bob"},
        ]

    def test_nested_loops_give_every_combination(self, run: Run) -> None:
        assert run("FOR a IN [1, 2] FOR b IN [3, 4] FILTER a + b != 5 RETURN [a, b]") == [[1, 3], [2, 4]]

    def test_a_loop_over_what_is_no_array_fails(self, run: Run) -> None:
        assert failure(lambda: run("FOR x IN @x RETURN x", x=None)) == (1563, 400)

    def test_length_of_a_collection_counts_its_documents(self, people: Run) -> None:
        assert people("RETURN [LENGTH(users), COUNT(@@c)]", **{"@c": "knows"}) == [[4, 0]]

    def test_comments_and_names_in_backticks_are_read(self, people: Run) -> None:
        assert people("/* all */ FOR `for` IN users // each\n FILTER `for`._key == 'bob' RETURN `for`.`age`") == [20]


class TestCollect:
    def test_groups_come_sorted_with_null_as_a_group(self, people: Run) -> None:
        assert people("FOR u IN users COLLECT age = u.age RETURN age") == [None, 20, 30, 40]

    def test_into_gathers_the_variables_or_an_expression(self, people: Run) -> None:
        gathered = people("FOR u IN users FILTER u.city == 'Rome' LET n = 1 COLLECT c = u.city INTO g RETURN g")
        assert sorted((member["u"]["_key"], member["n"]) for member in gathered[0]) == [("bob", 1), ("tom", 1)]
        names = people("FOR u IN users COLLECT c = u.city INTO g = u._key RETURN [c, SORTED(g)]")
        assert names == [["Paris", ["ann", "eve"]], ["Rome", ["bob", "tom"]]]

    def test_aggregates_leave_nulls_out(self, people: Run) -> None:
        query = """FOR u IN users COLLECT city = u.city
            AGGREGATE n = COUNT(u), sum = SUM(u.age), mean = AVERAGE(u.age), low = MIN(u.age), high = MAX(u.age)
            RETURN [city, n, sum, mean, low, high]"""
        assert people(query) == [["Paris", 2, 70, 35, 30, 40], ["Rome", 2, 20, 20, 20, 20]]

    def test_aggregating_no_rows_gives_one_row(self, run: Run) -> None:
        query = """FOR u IN users COLLECT AGGREGATE n = COUNT(1), s = SUM(u.a), low = MIN(u.a), m = AVG(u.a)
            RETURN [n, s, low, m]"""
        assert run(query) == [[0, None, None, None]]
        assert run("FOR u IN users COLLECT WITH COUNT INTO n RETURN n") == [0]
        assert run("FOR u IN users COLLECT c = u.c RETURN c") == []

    def test_count_into_counts_each_group(self, people: Run) -> None:
        assert people("FOR u IN users COLLECT c = u.city WITH COUNT INTO n RETURN [c, n]") == [
            ["Paris", 2],
            ["Rome", 2],
        ]

    def test_variables_before_it_are_gone(self, people: Run) -> None:
        assert failure(lambda: people("FOR u IN users COLLECT c = u.city RETURN u")) == (1203, 404)

    def test_variables_of_the_outer_query_stay(self, people: Run) -> None:
        query = "LET x = 5 RETURN (FOR u IN users COLLECT c = u.city RETURN [c, x])"
        assert people(query) == [[["Paris", 5], ["Rome", 5]]]

    @pytest.mark.parametrize("aggregate", ["u.age", "FIRST(u.age)", "1 + SUM(u.age)", "CONCAT(u.city)"])
    def test_only_aggregate_functions_aggregate(self, run: Run, aggregate: str) -> None:
        assert failure(lambda: run(f"FOR u IN users COLLECT AGGREGATE x = {aggregate} RETURN x")) == (1574, 400)


class TestWriting:
    def test_insert_gives_key_id_and_revision(self, run: Run) -> None:
        (new,) = run("INSERT {a: 1} INTO users RETURN NEW")
        assert new["_id"] == f"users/{new['_key']}"
        assert new.keys() == {"_key", "_id", "_rev", "a"}

    def test_insert_of_a_known_key_is_a_unique_violation(self, people: Run) -> None:
        assert failure(lambda: people("INSERT {_key: 'ann'} INTO users")) == (1210, 409)

    def test_overwrite_mode_says_what_becomes_of_a_known_key(self, people: Run) -> None:
        query = "INSERT {_key: 'ann', city: 'Bonn'} INTO users OPTIONS {overwriteMode: @mode} RETURN [OLD.city, NEW]"
        assert people(query, mode="ignore") == [[None, None]]
        ((before, new),) = people(query, mode="update")
        assert (before, new["age"], new["city"]) == ("Paris", 30, "Bonn")
        ((before, new),) = people(query, mode="replace")
        assert (before, "age" in new, new["city"]) == ("Bonn", False, "Bonn")
        assert failure(lambda: people(query, mode="conflict")) == (1210, 409)

    @pytest.mark.parametrize("key", ["", "a/b", "记", "a b", None, 7, "x" * 255])
    def test_a_key_has_few_characters(self, run: Run, key: Any) -> None:
        assert failure(lambda: run("INSERT {_key: @key} INTO users", key=key)) == (1221, 400)

    @pytest.mark.parametrize("edge", [{}, {"_from": "users/a"}, {"_from": "a", "_to": "users/b"}])
    def test_an_edge_has_both_ends(self, run: Run, edge: dict[str, str]) -> None:
        assert failure(lambda: run("INSERT @edge INTO knows", edge=edge)) == (1233, 400)

    def test_only_objects_are_documents(self, run: Run) -> None:
        assert failure(lambda: run("INSERT 'text' INTO users")) == (1227, 400)

    def test_update_merges_and_replace_does_not(self, people: Run) -> None:
        people("UPDATE 'ann' WITH {pet: {name: 'Rex', age: 3}} IN users")
        ((old, new),) = people(
            "FOR u IN users FILTER u._key == 'ann' UPDATE u WITH {pet: {age: 4}} IN users RETURN [OLD, NEW]"
        )
        assert old["pet"] == {"name": "Rex", "age": 3}
        assert new["pet"] == {"name": "Rex", "age": 4}
        assert old["_rev"] != new["_rev"]
        (new,) = people("REPLACE {_key: 'ann'} WITH {pet: {age: 5}, _key: 'other'} IN users RETURN NEW")
        assert (new["_key"], new["pet"], "city" in new) == ("ann", {"age": 5}, False)

    def test_update_keeps_null_unless_told_otherwise(self, people: Run) -> None:
        assert people("UPDATE 'ann' WITH {age: null} IN users RETURN HAS(NEW, 'age')") == [True]
        assert people("UPDATE 'bob' WITH {age: null} IN users OPTIONS {keepNull: false} RETURN HAS(NEW, 'age')") == [
            False
        ]

    def test_what_is_not_there_cannot_change(self, run: Run) -> None:
        for query in ("UPDATE 'no' WITH {} IN users", "REPLACE 'no' WITH {} IN users", "REMOVE 'no' IN users"):
            assert failure(partial(run, query)) == (1202, 404)
        assert run("REMOVE 'no' IN users OPTIONS {ignoreErrors: true} RETURN OLD") == []
        assert failure(lambda: run("REMOVE {id: 1} IN users")) == (1226, 400)
        assert failure(lambda: run("REMOVE 7 IN users")) == (1227, 400)

    def test_remove_gives_the_old_document(self, people: Run) -> None:
        assert people("FOR u IN users FILTER u.city == 'Rome' REMOVE u IN users RETURN OLD.age") in (
            [None, 20],
            [20, None],
        )
        assert people("RETURN LENGTH(users)") == [2]

    def test_upsert_inserts_once_and_updates_from_then_on(self, run: Run) -> None:
        query = """UPSERT {name: @name} INSERT {name: @name, logins: 1} UPDATE {logins: OLD.logins + 1} IN users
            RETURN [OLD.logins, NEW.logins]"""
        assert [run(query, name="superuser"), run(query, name="superuser")] == [[[None, 1]], [[1, 2]]]

    def test_upsert_in_a_loop_finds_what_it_inserted(self, run: Run) -> None:
        run("FOR i IN 1..3 UPSERT {_key: 'x'} INSERT {_key: 'x', n: 1} UPDATE {n: OLD.n + 1} IN users")
        assert run("FOR u IN users RETURN u.n") == [3]

    def test_a_failed_query_leaves_nothing_behind(self, people: Run) -> None:
        assert failure(lambda: people("FOR k IN ['new', 'ann'] INSERT {_key: k} INTO users")) == (1210, 409)
        assert people("RETURN LENGTH(users)") == [4]

    def test_two_collections_may_be_written_in_one_query(self, people: Run) -> None:
        query = """FOR u IN users FILTER u.age > 25 UPDATE u WITH {old: true} IN users
            INSERT {_from: NEW._id, _to: 'users/bob'} INTO knows RETURN NEW._from"""
        assert sorted(people(query)) == ["users/ann", "users/eve"]


class TestRefusedQueries:
    @pytest.mark.parametrize(
        "query",
        [
            "",
            "FOR u IN users",
            "RETURN",
            "RETURN 1 RETURN 2",
            "RETURN 1 +",
            "RETURN (1",
            "RETURN {a: }",
            "RETURN 'open",
            "RETURN 01",
            "RETURN 1.",
            "FOR u IN users RETURN u.limit",
            "FOR u IN users RETURN {filter: 1}",
            "FOR u IN users RETURN u.@name",
            "FOR u IN users LIMIT u.age RETURN u",
            "FOR u IN users RETURN u LIMIT 1",
            "SELECT * FROM users",
            "RETURN @@@x",
            "RETURN 名",
            "FOR v, e IN users RETURN v",
            "FOR u IN users RETURN u LIKE 'a'",
            "FOR u IN users RETURN u =~ 'a'",
            "LET x = 1",
            "UPSERT @x INSERT {} UPDATE {} IN users",
            "UPSERT {} INSERT {} UPDATE {} IN users",
            "UPSERT {[CONCAT('a', 'b')]: 1} INSERT {} UPDATE {} IN users",
            "UPSERT {a: 1} INSERT {} REPLACE {} IN users",
            "UPDATE 'a' IN users",
            "FOR p IN OUTBOUND SHORTEST_PATH 'users/a' TO 'users/b' knows RETURN p",
        ],
    )
    def test_what_is_no_aql_of_the_subset_is_a_syntax_error(self, run: Run, query: str) -> None:
        number, status = failure(lambda: run(query))
        assert (number, status) == (1501 if query else 1502, 400)

    @pytest.mark.parametrize(
        ("query", "error"),
        [
            ("RETURN FOO(1)", (1540, 400)),
            ("RETURN UPPER('a')", (1540, 400)),
            ("RETURN FIRST()", (1541, 400)),
            ("RETURN FIRST(1, 2)", (1541, 400)),
            ("FOR x IN nowhere RETURN x", (1203, 404)),
            ("RETURN nowhere", (1203, 404)),
            ("INSERT {} INTO nowhere", (1203, 404)),
            ("WITH nowhere RETURN 1", (1203, 404)),
            ("RETURN users", (1568, 400)),
            ("RETURN users.name", (1568, 400)),
            ("RETURN SUM(users)", (1568, 400)),
            ("LET x = 1 LET x = 2 RETURN x", (1511, 400)),
            ("FOR x IN [1] RETURN (FOR x IN [2] RETURN x)", (1511, 400)),
            ("RETURN {a}", (1512, 400)),
            ("INSERT {} INTO users OPTIONS {overwrite: true}", (1539, 400)),
            ("INSERT {} INTO users OPTIONS {overwriteMode: 'merge'}", (1539, 400)),
            ("INSERT {} INTO users FOR u IN users RETURN u", (1579, 400)),
            ("INSERT {} INTO users RETURN DOCUMENT('users/a')", (1579, 400)),
            ("INSERT {} INTO users INSERT {} INTO users", (1579, 400)),
            ("FOR u IN users LET x = (UPDATE u WITH {} IN users RETURN NEW) RETURN x", (1579, 400)),
            ("INSERT {x: (INSERT {} INTO knows RETURN NEW)} INTO users", (1573, 400)),
        ],
    )
    def test_other_mistakes_have_their_own_numbers(self, run: Run, query: str, error: tuple[int, int]) -> None:
        assert failure(lambda: run(query)) == error

    @pytest.mark.parametrize(
        ("binds", "error"),
        [
            ({}, (1551, 400)),
            ({"@c": "users"}, (1551, 400)),
            ({"@c": "users", "x": 1, "y": 2}, (1552, 400)),
            ({"@c": "users", "x": 1, "@x": "users"}, (1552, 400)),
            ({"@c": 7, "x": 1}, (1553, 400)),
            ({"@c": "", "x": 1}, (1553, 400)),
            ({"@c": "nowhere", "x": 1}, (1203, 404)),
        ],
    )
    def test_bind_variables_are_given_exactly(self, run: Run, binds: dict[str, Any], error: tuple[int, int]) -> None:
        assert failure(lambda: run("FOR u IN @@c FILTER u.x == @x RETURN u", **binds)) == error

    def test_warnings_fail_a_query_that_asks_for_it(self, database: StandardDatabase) -> None:
        assert failure(lambda: database.aql.execute("RETURN 1 / 0", fail_on_warning=True)) == (1562, 400)
