"""One stand-in for the folder, empty for each test, and the real driver to talk to it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from arango.client import ArangoClient
from arango.database import StandardDatabase
from arango.exceptions import ArangoServerError

from testing.arango_standin import ArangoStandIn
from testing.arango_standin.driver import result

Run = Callable[..., list[Any]]


@pytest.fixture(scope="session")
def running() -> Iterator[tuple[ArangoStandIn, ArangoClient]]:
    with ArangoStandIn(password="secret") as server:
        client = ArangoClient(hosts=server.url)
        yield server, client
        client.close()


@pytest.fixture
def server(running: tuple[ArangoStandIn, ArangoClient]) -> ArangoStandIn:
    running[0].reset()
    return running[0]


@pytest.fixture
def database(server: ArangoStandIn, running: tuple[ArangoStandIn, ArangoClient]) -> StandardDatabase:
    """A database with `users` and the edges `knows`."""
    found = running[1].db("_system", username="root", password="secret")
    found.create_collection("users")
    found.create_collection("knows", edge=True)
    return found


@pytest.fixture
def run(database: StandardDatabase) -> Run:
    """Runs a query in a transaction of its own; bind variables are keywords."""

    def run(query: str, **binds: Any) -> list[Any]:
        cursor = result(database.aql.execute(query, bind_vars=binds))
        return list(cursor)

    return run


def failure(work: Callable[[], Any]) -> tuple[int | None, int]:
    """The server's error number and HTTP status."""
    with pytest.raises(ArangoServerError) as caught:
        work()
    return caught.value.error_code, caught.value.http_code
