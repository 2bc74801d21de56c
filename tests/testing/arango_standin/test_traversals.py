"""Graph traversals (manual, "Graph traversals in AQL")."""

from collections.abc import Callable
from typing import Any

import pytest
from arango.database import StandardDatabase

from testing.arango_standin.driver import result
from tests.testing.arango_standin.conftest import failure

Run = Callable[..., list[Any]]

#     a → b → d → e → a       a → c → d
EDGES = ["ab", "bd", "de", "ea", "ac", "cd"]


@pytest.fixture
def graph(run: Run, database: StandardDatabase) -> Run:
    database.create_graph(
        "people",
        edge_definitions=[
            {"edge_collection": "knows", "from_vertex_collections": ["users"], "to_vertex_collections": ["users"]}
        ],
    )
    run("FOR k IN ['a', 'b', 'c', 'd', 'e'] INSERT {_key: k} INTO users")
    ends = [{"_from": f"users/{edge[0]}", "_to": f"users/{edge[1]}"} for edge in EDGES]
    run("FOR e IN @ends INSERT e INTO knows", ends=ends)
    return run


def paths(found: list[Any]) -> list[str]:
    return sorted("".join(vertex["_key"] for vertex in path["vertices"]) for path in found)


class TestDepth:
    @pytest.mark.parametrize(
        ("depth", "expected"),
        [
            ("", ["ab", "ac"]),
            ("2", ["abd", "acd"]),
            ("0..1", ["a", "ab", "ac"]),
            ("2..3", ["abd", "abde", "acd", "acde"]),
            ("@low..@high", ["ab", "abd", "ac", "acd"]),
        ],
    )
    def test_paths_of_the_wanted_lengths_are_emitted(self, graph: Run, depth: str, expected: list[str]) -> None:
        binds = {"low": 1, "high": 2} if "@" in depth else {}
        assert paths(graph(f"WITH users FOR v, e, p IN {depth} OUTBOUND 'users/a' knows RETURN p", **binds)) == expected

    @pytest.mark.parametrize("depth", ["2..1", "@depth", "1..'2'"])
    def test_a_depth_is_a_range_of_numbers(self, graph: Run, depth: str) -> None:
        binds = {"depth": -1} if "@" in depth else {}
        query = f"WITH users FOR v IN {depth} OUTBOUND 'users/a' knows RETURN v"
        assert failure(lambda: graph(query, **binds)) == (1501, 400)

    def test_the_start_has_no_edge(self, graph: Run) -> None:
        query = "WITH users FOR v, e, p IN 0..0 ANY 'users/a' GRAPH 'people' RETURN [v._key, e, p.edges]"
        assert graph(query) == [["a", None, []]]

    def test_the_start_may_be_a_document_and_vary_by_row(self, graph: Run) -> None:
        query = (
            "WITH users FOR u IN users FILTER u._key IN ['b', 'c'] FOR v IN OUTBOUND u knows RETURN [u._key, v._key]"
        )
        assert sorted(graph(query)) == [["b", "d"], ["c", "d"]]


class TestDirection:
    @pytest.mark.parametrize(
        ("direction", "expected"), [("OUTBOUND", ["e"]), ("INBOUND", ["b", "c"]), ("ANY", ["b", "c", "e"])]
    )
    def test_edges_are_followed_in_the_direction(self, graph: Run, direction: str, expected: list[str]) -> None:
        query = f"WITH users FOR v IN 1 {direction} 'users/d' GRAPH @graph SORT v._key RETURN v._key"
        assert graph(query, graph="people") == expected


class TestUniqueness:
    def test_without_options_vertices_repeat_and_edges_do_not_on_one_path(self, graph: Run) -> None:
        found = paths(graph("WITH users FOR v, e, p IN 4..9 OUTBOUND 'users/a' knows RETURN p"))
        assert found == ["abdea", "abdeac", "abdeacd", "acdea", "acdeab", "acdeabd"]

    def test_path_uniqueness_keeps_a_path_from_meeting_itself(self, graph: Run) -> None:
        query = "WITH users FOR v, e, p IN 3..9 OUTBOUND 'users/a' knows OPTIONS {uniqueVertices: 'path'} RETURN p"
        assert paths(graph(query)) == ["abde", "acde"]

    def test_global_uniqueness_meets_each_vertex_once_nearest_first(self, graph: Run) -> None:
        query = """WITH users FOR v, e, p IN 0..9 ANY 'users/a' knows OPTIONS {order: 'bfs', uniqueVertices: 'global'}
            RETURN [LENGTH(p.edges), v._key]"""
        found = graph(query)
        assert sorted(found) == [[0, "a"], [1, "b"], [1, "c"], [1, "e"], [2, "d"]]
        assert [depth for depth, _ in found] == [0, 1, 1, 1, 2]

    def test_global_uniqueness_needs_breadth_first(self, graph: Run) -> None:
        query = "WITH users FOR v IN 1..2 ANY 'users/a' knows OPTIONS {uniqueVertices: 'global'} RETURN v"
        assert failure(lambda: graph(query)) == (10, 400)

    @pytest.mark.parametrize("options", ["{order: 'weighted'}", "{uniqueEdges: 'global'}", "{parallelism: 2}"])
    def test_options_outside_the_subset_are_refused(self, graph: Run, options: str) -> None:
        query = f"WITH users FOR v IN 1..2 ANY 'users/a' knows OPTIONS {options} RETURN v"
        assert failure(lambda: graph(query)) == (1539, 400)

    def test_a_loop_at_one_vertex_is_followed_once(self, graph: Run) -> None:
        graph("INSERT {_from: 'users/a', _to: 'users/a'} INTO knows")
        assert paths(graph("WITH users FOR v, e, p IN 1 ANY 'users/a' knows FILTER e._from == e._to RETURN p")) == [
            "aa"
        ]


class TestPrune:
    def test_the_pruned_vertex_is_emitted_and_nothing_below_it(self, graph: Run) -> None:
        query = "WITH users FOR v, e, p IN 1..3 OUTBOUND 'users/a' knows PRUNE v._key == 'b' RETURN p"
        assert paths(graph(query)) == ["ab", "ac", "acd", "acde"]

    def test_the_start_is_tested_too(self, graph: Run) -> None:
        assert graph("WITH users FOR v IN 0..3 OUTBOUND 'users/a' knows PRUNE v._key == 'a' RETURN v._key") == ["a"]

    def test_a_filter_alone_does_not_stop_the_walk(self, graph: Run) -> None:
        query = "WITH users FOR v, e, p IN 1..3 OUTBOUND 'users/a' knows FILTER v._key == 'e' RETURN p"
        assert paths(graph(query)) == ["abde", "acde"]


class TestWhatIsMissing:
    def test_a_vertex_without_a_document_is_null_and_warns(self, graph: Run, database: StandardDatabase) -> None:
        graph("INSERT {_from: 'users/e', _to: 'users/gone'} INTO knows")
        query = "WITH users FOR v, e IN 1 OUTBOUND 'users/e' knows SORT v._key RETURN [v._key, e._to]"
        cursor = result(database.aql.execute(query))
        assert list(cursor) == [[None, "users/gone"], ["a", "users/a"]]
        assert [warning["code"] for warning in cursor.warnings() or ()] == [1202]

    @pytest.mark.parametrize("start", ["a", None, 7, {"_key": "a"}])
    def test_a_start_that_is_no_identifier_gives_nothing_and_warns(
        self, graph: Run, database: StandardDatabase, start: Any
    ) -> None:
        cursor = result(database.aql.execute("WITH users FOR v IN ANY @s knows RETURN v", bind_vars={"s": start}))
        assert list(cursor) == []
        assert [warning["code"] for warning in cursor.warnings() or ()] == [10]

    @pytest.mark.parametrize("edges", ["knows", "GRAPH 'people'"])
    def test_vertex_collections_are_named_after_with(self, graph: Run, edges: str) -> None:
        query = f"FOR v IN OUTBOUND 'users/nobody' {edges} RETURN v"
        assert failure(lambda: graph(query)) == (1521, 400)
        assert failure(lambda: graph(f"WITH knows {query}")) == (1521, 400)

    def test_a_collection_met_on_the_way_is_named_after_with(self, graph: Run, database: StandardDatabase) -> None:
        database.create_collection("towns")
        graph("INSERT {_from: 'users/e', _to: 'towns/x'} INTO knows")
        query = "FOR v IN OUTBOUND 'users/e' knows RETURN v"
        assert failure(lambda: graph(f"WITH users {query}")) == (1521, 400)
        assert len(graph(f"WITH users, towns {query}")) == 2

    def test_graphs_and_edge_collections_must_exist(self, graph: Run) -> None:
        assert failure(lambda: graph("WITH users FOR v IN ANY 'users/a' GRAPH 'no' RETURN v")) == (1924, 404)
        assert failure(lambda: graph("WITH users FOR v IN ANY 'users/a' nowhere RETURN v")) == (1203, 404)
        assert failure(lambda: graph("WITH users FOR v IN ANY 'users/a' users RETURN v")) == (1218, 400)

    def test_no_traversal_follows_a_modification(self, graph: Run) -> None:
        query = "WITH users INSERT {} INTO users FOR v IN ANY 'users/a' knows RETURN v"
        assert failure(lambda: graph(query)) == (1579, 400)
