"""The HTTP interface and the faults that tests can set."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
import requests
from arango.client import ArangoClient
from arango.database import StandardDatabase

from testing.arango_standin import ArangoStandIn
from testing.arango_standin.driver import result
from tests.testing.arango_standin.conftest import failure

Run = Callable[..., list[Any]]
KNOWS = {"edge_collection": "knows", "from_vertex_collections": ["users"], "to_vertex_collections": ["users"]}


class TestCursors:
    def test_results_come_in_batches(self, database: StandardDatabase) -> None:
        cursor = result(database.aql.execute("FOR i IN 1..5 RETURN i", batch_size=2, count=True))
        assert (cursor.count(), list(cursor.batch() or []), cursor.has_more()) == (5, [1, 2], True)
        assert list(cursor) == [1, 2, 3, 4, 5]
        assert failure(cursor.close) == (1600, 404)

    def test_a_closed_cursor_is_gone(self, database: StandardDatabase) -> None:
        cursor = result(database.aql.execute("FOR i IN 1..5 RETURN i", batch_size=2))
        assert cursor.close() is True
        assert failure(cursor.fetch) == (1600, 404)

    def test_an_end_of_the_transaction_closes_its_cursors(self, database: StandardDatabase) -> None:
        transaction = database.begin_transaction(read="users")
        cursor = result(transaction.aql.execute("FOR i IN 1..5 RETURN i", batch_size=2))
        transaction.commit_transaction()
        assert failure(cursor.fetch) == (1600, 404)

    def test_statistics_count_writes(self, database: StandardDatabase) -> None:
        statistics = result(database.aql.execute("FOR i IN 1..3 INSERT {i} INTO users")).statistics()
        assert statistics is not None
        assert statistics["modified"] == 3

    def test_a_batch_holds_something(self, database: StandardDatabase) -> None:
        assert failure(lambda: database.aql.execute("RETURN 1", batch_size=0)) == (10, 400)


class TestSchema:
    def test_databases_are_apart(self, server: ArangoStandIn, database: StandardDatabase) -> None:
        database.create_database("other")
        assert failure(lambda: database.create_database("other")) == (1207, 409)
        assert database.databases() == ["_system", "other"]
        client = ArangoClient(hosts=server.url)
        other = client.db("other", username="root", password="secret")
        assert other.collections() == []
        assert result(other.properties())["name"] == "other"
        assert failure(lambda: other.create_database("third")) == (1230, 403)
        assert failure(lambda: client.db("no", username="root", password="secret").collections()) == (1228, 404)
        client.close()

    def test_collections_have_a_type_and_one_name(self, database: StandardDatabase) -> None:
        assert {found["name"]: found["type"] for found in result(database.collections())} == {
            "users": "document",
            "knows": "edge",
        }
        assert failure(lambda: database.create_collection("users")) == (1207, 409)
        assert failure(lambda: database.create_collection("1st")) == (1208, 400)
        assert database.collection("users").count() == 0
        assert failure(lambda: database.collection("no").count()) == (1203, 404)

    def test_an_index_is_created_once(self, database: StandardDatabase, run: Run) -> None:
        users = database.collection("users")
        wanted = {"type": "persistent", "fields": ["a", "b"], "name": "by_a"}
        first, second = (result(users.add_index(dict(wanted))) for _ in range(2))
        assert first["id"] == second["id"]
        assert (first["isNewlyCreated"], second["isNewlyCreated"]) == (True, False)
        assert [index["fields"] for index in result(users.indexes())] == [["_key"], ["a", "b"]]
        assert [index["type"] for index in result(database.collection("knows").indexes())] == ["primary", "edge"]
        assert failure(lambda: users.add_index({**wanted, "fields": ["c"]})) == (1005, 409)
        assert failure(lambda: users.add_index({"type": "persistent", "fields": []})) == (10, 400)
        assert failure(lambda: users.add_index({"type": "geo", "fields": ["a"]})) == (10, 400)
        assert failure(lambda: database.collection("no").add_index(dict(wanted))) == (1203, 404)

    def test_a_unique_index_needs_unique_documents(self, database: StandardDatabase, run: Run) -> None:
        run("FOR i IN 1..2 INSERT {a: 1} INTO users")
        unique = {"type": "persistent", "fields": ["a"], "unique": True}
        assert failure(lambda: database.collection("users").add_index(unique)) == (1210, 409)

    def test_graphs_create_the_collections_that_they_name(self, database: StandardDatabase) -> None:
        likes = {"edge_collection": "likes", "from_vertex_collections": ["users"], "to_vertex_collections": ["things"]}
        database.create_graph("g", edge_definitions=[KNOWS, likes])
        assert database.has_graph("g")
        assert not database.has_graph("h")
        assert {found["name"] for found in result(database.collections())} == {"users", "knows", "likes", "things"}
        assert failure(lambda: database.create_graph("g")) == (1925, 409)
        changed = {**likes, "to_vertex_collections": ["users"]}
        assert failure(lambda: database.create_graph("h", edge_definitions=[changed])) == (1921, 400)
        wrong = {**KNOWS, "edge_collection": "users"}
        assert failure(lambda: database.create_graph("h", edge_definitions=[wrong])) == (1944, 400)


class TestRequests:
    def test_a_wrong_password_is_refused(self, server: ArangoStandIn, database: StandardDatabase) -> None:
        server.password = "changed"
        assert failure(database.version) == (11, 401)
        server.password = "secret"
        assert database.version() == "3.12.4"

    @pytest.mark.parametrize(
        ("method", "path", "status"),
        [
            ("GET", "/_api/foxx", 404),
            ("POST", "/_api/version", 404),
            ("GET", "/", 404),
            ("GET", "/_db/no/_api/version", 404),
        ],
    )
    def test_other_paths_are_unknown(self, server: ArangoStandIn, method: str, path: str, status: int) -> None:
        with requests.request(method, server.url + path, auth=("root", "secret"), timeout=5) as reply:
            assert reply.status_code == status

    def test_a_body_that_is_no_json_is_refused(self, server: ArangoStandIn) -> None:
        url = f"{server.url}/_api/cursor"
        with requests.post(url, data=b"{", auth=("root", "secret"), timeout=5) as reply:
            assert (reply.status_code, reply.json()["errorNum"]) == (400, 600)


class TestFaults:
    def test_the_next_request_fails_without_being_done(self, server: ArangoStandIn, run: Run) -> None:
        server.fail_next(1200, path="/_api/cursor", times=2)
        for _ in range(2):
            assert failure(lambda: run("INSERT {} INTO users")) == (1200, 409)
        assert run("RETURN LENGTH(users)") == [0]

    def test_only_the_given_path_fails_and_with_the_given_status(
        self, server: ArangoStandIn, database: StandardDatabase
    ) -> None:
        server.fail_next(4, 500, path="/_api/transaction")
        assert database.version()
        assert failure(database.begin_transaction) == (4, 500)

    def test_in_read_only_mode_nothing_is_written(
        self, server: ArangoStandIn, database: StandardDatabase, run: Run
    ) -> None:
        server.read_only = True
        assert run("RETURN 1") == [1]
        assert failure(lambda: run("INSERT {} INTO users")) == (1004, 403)
        assert failure(lambda: database.create_collection("more")) == (1004, 403)

    def test_a_lost_reply_was_carried_out(self, server: ArangoStandIn, run: Run) -> None:
        server.lose_next_reply()
        body = {"query": "INSERT {} INTO users"}
        with pytest.raises(requests.ConnectionError):
            requests.post(f"{server.url}/_api/cursor", json=body, auth=("root", "secret"), timeout=5)
        assert run("RETURN LENGTH(users)") == [1]

    def test_a_frozen_server_answers_when_it_thaws(self, server: ArangoStandIn, database: StandardDatabase) -> None:
        server.freeze()
        with pytest.raises(requests.ReadTimeout):
            requests.get(f"{server.url}/_api/version", timeout=0.05)
        answers: list[object] = []
        waiting = threading.Thread(target=lambda: answers.append(database.version()))
        waiting.start()
        waiting.join(0.05)
        assert answers == []
        server.thaw()
        waiting.join(5)
        assert answers == ["3.12.4"]

    def test_a_delay_makes_a_client_time_out(self, server: ArangoStandIn) -> None:
        server.delay_s = 0.3
        with pytest.raises(requests.ReadTimeout):
            requests.get(f"{server.url}/_api/version", timeout=0.05)

    def test_a_stopped_server_refuses_and_comes_back_with_its_data(self) -> None:
        server = ArangoStandIn().start()
        url = f"{server.url}/_api/collection"
        with requests.Session() as session:
            session.auth = ("root", "")
            assert session.post(url, json={"name": "users"}, timeout=5).status_code == 200
            server.stop()
            with pytest.raises(requests.ConnectionError):
                session.get(url, timeout=5)
            with server.start():
                assert [found["name"] for found in session.get(url, timeout=5).json()["result"]] == ["users"]

    def test_reset_forgets_data_and_faults(self, server: ArangoStandIn, database: StandardDatabase) -> None:
        server.fail_next(4)
        server.reset()
        assert database.collections() == []

    def test_the_version_can_be_set(self, server: ArangoStandIn, database: StandardDatabase) -> None:
        server.version = "3.11.0"
        assert database.version() == "3.11.0"
        server.version = "3.12.4"
