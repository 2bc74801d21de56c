"""Stream transactions: snapshots, conflicts, declarations and ends (manual, "Stream Transactions")."""

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from arango.database import StandardDatabase, TransactionDatabase

from testing.arango_standin import ArangoStandIn
from testing.arango_standin.driver import result
from tests.testing.arango_standin.conftest import failure

Run = Callable[..., list[Any]]
PUT = "UPSERT {_key: @key} INSERT {_key: @key, n: @n} UPDATE {n: @n} IN users"
READ = "FOR u IN users FILTER u._key == @key RETURN u.n"


def execute(transaction: TransactionDatabase | StandardDatabase, query: str, **binds: Any) -> list[Any]:
    cursor = result(transaction.aql.execute(query, bind_vars=binds))
    return list(cursor)


class TestSnapshots:
    def test_a_transaction_sees_its_own_writes_and_others_do_not_until_it_commits(
        self, database: StandardDatabase, run: Run
    ) -> None:
        transaction = database.begin_transaction(write="users")
        execute(transaction, PUT, key="a", n=1)
        assert execute(transaction, READ, key="a") == [1]
        assert run(READ, key="a") == []
        transaction.commit_transaction()
        assert run(READ, key="a") == [1]

    def test_what_others_commit_after_its_begin_stays_unseen(self, database: StandardDatabase, run: Run) -> None:
        run(PUT, key="a", n=1)
        transaction = database.begin_transaction(read="users")
        run(PUT, key="a", n=2)
        run(PUT, key="b", n=3)
        assert execute(transaction, "FOR u IN users RETURN u.n") == [1]

    def test_an_abort_undoes_everything(self, database: StandardDatabase, run: Run) -> None:
        run(PUT, key="a", n=1)
        transaction = database.begin_transaction(write=["users", "knows"])
        execute(transaction, PUT, key="a", n=2)
        execute(transaction, "REMOVE 'a' IN users")
        execute(transaction, "INSERT {_from: 'users/a', _to: 'users/a'} INTO knows")
        transaction.abort_transaction()
        assert run("RETURN [LENGTH(users), LENGTH(knows)]") == [[1, 0]]
        assert run(READ, key="a") == [1]

    def test_a_failed_query_leaves_its_transaction_open(self, database: StandardDatabase) -> None:
        transaction = database.begin_transaction(write="users")
        execute(transaction, PUT, key="a", n=1)
        assert failure(lambda: execute(transaction, "INSERT {_key: 'a'} INTO users")) == (1210, 409)
        assert execute(transaction, READ, key="a") == [1]


class TestConflicts:
    def test_a_document_that_another_open_transaction_wrote_conflicts_at_once(
        self, database: StandardDatabase, run: Run
    ) -> None:
        first, second = (database.begin_transaction(write="users") for _ in range(2))
        execute(first, PUT, key="a", n=1)
        assert failure(lambda: execute(second, PUT, key="a", n=2)) == (1200, 409)
        assert failure(lambda: run(PUT, key="a", n=3)) == (1200, 409)
        execute(second, PUT, key="b", n=2)
        first.abort_transaction()
        execute(second, PUT, key="a", n=2)
        second.commit_transaction()
        assert run("FOR u IN users SORT u._key RETURN u.n") == [2, 2]

    @pytest.mark.parametrize(
        "write",
        [
            "UPDATE 'a' WITH {n: 5} IN users",
            "REMOVE 'a' IN users",
            "INSERT {_key: 'new'} INTO users",
            "UPDATE 'new' WITH {n: 5} IN users",
        ],
    )
    def test_a_document_that_changed_since_the_begin_conflicts(
        self, database: StandardDatabase, run: Run, write: str
    ) -> None:
        run(PUT, key="a", n=1)
        transaction = database.begin_transaction(write="users")
        run(PUT, key="a", n=2)
        run(PUT, key="new", n=2)
        assert failure(lambda: execute(transaction, write)) == (1200, 409)

    def test_one_value_of_a_unique_index_conflicts_too(self, database: StandardDatabase, run: Run) -> None:
        database.collection("users").add_index({"type": "persistent", "fields": ["name"], "unique": True})
        insert = "INSERT {name: @name} INTO users"
        first, second = (database.begin_transaction(write="users") for _ in range(2))
        execute(first, insert, name="ann")
        assert failure(lambda: execute(second, insert, name="ann")) == (1200, 409)
        first.commit_transaction()
        assert failure(lambda: execute(second, insert, name="ann")) == (1200, 409)
        second.abort_transaction()
        assert failure(lambda: run(insert, name="ann")) == (1210, 409)


class TestUniqueIndexes:
    @pytest.fixture(autouse=True)
    def index(self, database: StandardDatabase) -> None:
        database.collection("users").add_index({"type": "persistent", "fields": ["owner", "a.b"], "unique": True})

    def test_a_value_may_be_taken_once_null_included(self, run: Run) -> None:
        run("INSERT {_key: 'x', owner: 1, a: {b: 2}} INTO users")
        run("INSERT {_key: 'y', owner: 1} INTO users")
        assert failure(lambda: run("INSERT {owner: 1.0, a: {b: 2}} INTO users")) == (1210, 409)
        assert failure(lambda: run("INSERT {owner: 1, a: null} INTO users")) == (1210, 409)
        assert failure(lambda: run("UPDATE 'y' WITH {a: {b: 2}} IN users")) == (1210, 409)

    def test_a_value_is_free_again_after_its_owner_changed_or_went(self, run: Run) -> None:
        run("FOR k IN ['x', 'y'] INSERT {_key: k, owner: k} INTO users")
        run("UPDATE 'x' WITH {owner: 'z'} IN users")
        run("INSERT {_key: 'x2', owner: 'x'} INTO users")
        run("REMOVE 'y' IN users")
        run("INSERT {owner: 'y'} INTO users")
        assert failure(lambda: run("INSERT {owner: 'z'} INTO users")) == (1210, 409)

    def test_owners_may_swap_within_a_transaction(self, database: StandardDatabase, run: Run) -> None:
        run("FOR k IN ['x', 'y'] INSERT {_key: k, owner: k} INTO users")
        transaction = database.begin_transaction(write="users")
        for key, owner in (("x", "free"), ("y", "x"), ("x", "y")):
            execute(transaction, "UPDATE @key WITH {owner: @owner} IN users", key=key, owner=owner)
        assert failure(lambda: execute(transaction, "INSERT {owner: 'x'} INTO users")) == (1210, 409)
        transaction.commit_transaction()
        assert failure(lambda: run("INSERT {owner: 'x'} INTO users")) == (1210, 409)
        run("INSERT {owner: 'free'} INTO users")


class TestDeclarations:
    def test_undeclared_collections_are_refused(self, database: StandardDatabase) -> None:
        transaction = database.begin_transaction(read="users")
        for query in (
            "FOR k IN knows RETURN k",
            "RETURN LENGTH(knows)",
            "RETURN DOCUMENT(@@c, 'a')",
            "WITH knows RETURN 1",
            "INSERT {} INTO users",
            "INSERT {} INTO knows",
        ):
            binds = {"@c": "knows"} if "@@c" in query else {}
            assert failure(partial(execute, transaction, query, **binds)) == (1652, 400)

    def test_implicit_reads_are_allowed_to_who_asks(self, database: StandardDatabase) -> None:
        transaction = database.begin_transaction(write="users", allow_implicit=True)
        assert execute(transaction, "FOR k IN knows RETURN k") == []
        assert failure(lambda: execute(transaction, "INSERT {} INTO knows")) == (1652, 400)

    def test_traversals_read_their_edges_and_vertices(self, database: StandardDatabase) -> None:
        query = "WITH users FOR v IN OUTBOUND 'users/a' knows RETURN v"
        for declared in (["users"], ["knows"]):
            transaction = database.begin_transaction(read=declared)
            assert failure(partial(execute, transaction, query)) == (1652, 400)

    def test_an_unknown_collection_cannot_be_declared(self, database: StandardDatabase) -> None:
        assert failure(lambda: database.begin_transaction(write="nowhere")) == (1203, 404)


class TestEnds:
    def test_an_ended_transaction_is_not_found(self, database: StandardDatabase) -> None:
        for end in ("commit_transaction", "abort_transaction"):
            transaction = database.begin_transaction(write="users")
            getattr(transaction, end)()
            assert failure(partial(execute, transaction, "RETURN 1")) == (1655, 404)

    def test_ending_twice_in_one_way_is_no_error_and_in_both_ways_is_one(self, database: StandardDatabase) -> None:
        committed, aborted = (database.begin_transaction(write="users") for _ in range(2))
        for _ in range(2):
            committed.commit_transaction()
            aborted.abort_transaction()
        assert failure(committed.abort_transaction) == (1653, 400)
        assert failure(aborted.commit_transaction) == (1653, 400)
        assert (committed.transaction_status(), aborted.transaction_status()) == ("committed", "aborted")

    def test_a_transaction_that_idles_is_aborted(
        self, server: ArangoStandIn, database: StandardDatabase, run: Run
    ) -> None:
        transaction = database.begin_transaction(write="users")
        execute(transaction, PUT, key="a", n=1)
        server.idle_timeout_s = 0.0
        try:
            assert failure(lambda: execute(transaction, "RETURN 1")) == (1655, 404)
            assert failure(transaction.commit_transaction) == (1653, 400)
        finally:
            server.idle_timeout_s = 60.0
        assert run(READ, key="a") == []

    def test_an_unknown_transaction_is_not_found(self, database: StandardDatabase) -> None:
        transaction = database.begin_transaction(read="users")
        transaction._executor._id = "999999999"
        assert failure(lambda: execute(transaction, "RETURN 1")) == (1655, 404)
        assert failure(transaction.commit_transaction) == (1655, 404)


class TestExclusiveLocks:
    def test_a_second_writer_gives_up_after_the_lock_timeout(self, database: StandardDatabase) -> None:
        database.begin_transaction(exclusive="users")
        database.begin_transaction(write="knows")
        database.begin_transaction(read="users")
        assert failure(lambda: database.begin_transaction(write="users", lock_timeout=0)) == (18, 500)

    def test_a_write_waits_for_the_lock(self, database: StandardDatabase, run: Run) -> None:
        transaction = database.begin_transaction(exclusive="users")
        waiting = threading.Thread(target=run, args=(PUT,), kwargs={"key": "a", "n": 1})
        waiting.start()
        time.sleep(0.05)
        assert execute(transaction, READ, key="a") == []
        transaction.commit_transaction()
        waiting.join(5)
        assert run(READ, key="a") == [1]
