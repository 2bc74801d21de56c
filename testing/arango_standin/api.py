"""The HTTP interface's endpoints that the adapter uses (HTTP reference), without HTTP itself."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .aql.query import run, written_collections
from .cursors import Cursors
from .database.errors import ServerError
from .database.store import Database, Graph
from .database.transactions import Transactions

SYSTEM_DATABASE = "_system"
_DATABASE_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,63}")
_LOCK_TIMEOUT_S = 900.0


@dataclass(frozen=True)
class Request:
    """A request within a database.

    Attributes:
        path: Parts of the path after `/_api/`.
        body: The decoded JSON body, None without one.
    """

    method: str
    database: str
    path: tuple[str, ...]
    parameters: dict[str, str]
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        """The JSON body, an object.

        Raises:
            ServerError: 600 for anything else.
        """
        try:
            decoded = json.loads(self.raw)
        except ValueError as error:
            raise ServerError(600, f"VPackError error: {error}", 400) from error
        if not isinstance(decoded, dict):
            raise ServerError(600, "expecting a JSON object", 400)
        return decoded


Reply = tuple[int, dict[str, Any]]


class _Tenant:
    """One database with its transactions and cursors."""

    def __init__(self, name: str) -> None:
        self.database = Database(name)
        self.transactions = Transactions(self.database)
        self.cursors = Cursors()


@dataclass
class Api:
    """The server's state and its endpoints.

    Attributes:
        version: The server's version as it reports it.
        read_only: Whether writes fail, as in the server's read-only mode.
        idle_timeout_s: How long a stream transaction may stay unused.
    """

    version: str = "3.12.4"
    read_only: bool = False
    idle_timeout_s: float = 60.0
    _tenants: dict[str, _Tenant] = field(default_factory=lambda: {SYSTEM_DATABASE: _Tenant(SYSTEM_DATABASE)})
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def reset(self) -> None:
        """Drop all databases, transactions and cursors."""
        with self._changed:
            self._tenants = {SYSTEM_DATABASE: _Tenant(SYSTEM_DATABASE)}
            self._changed.notify_all()

    def answer(self, request: Request) -> Reply:
        """Answer a request.

        Raises:
            ServerError: Whatever is wrong with it.
        """
        with self._changed:
            tenant = self._tenants.get(request.database)
            if tenant is None:
                raise ServerError(1228, "database not found")
            tenant.transactions.expire(self.idle_timeout_s)
            handler = self._route(request)
            status, body = handler(tenant, request)
            self._changed.notify_all()
            return status, {"error": False, "code": status, **body}

    def _route(self, request: Request) -> Callable[[_Tenant, Request], Reply]:
        match request.method, *request.path:
            case "GET", "version":
                return lambda _tenant, _request: (
                    200,
                    {"server": "arango", "license": "community", "version": self.version},
                )
            case _, "database", *_:
                return self._database
            case ("GET", "collection", *_):
                return self._read_collections
            case "POST", "collection":
                return self._create_collection
            case "GET" | "POST", "index":
                return self._index
            case "GET" | "POST", "gharial", *_:
                return self._graph
            case _, "cursor", *_:
                return self._cursor
            case _, "transaction", *_:
                return self._transaction
            case _:
                return _unknown_path

    def _forbid_writes(self) -> None:
        if self.read_only:
            raise ServerError(1004, "cannot change while in read-only mode")

    def _database(self, tenant: _Tenant, request: Request) -> Reply:
        match request.method, *request.path[1:]:
            case "GET", "current":
                database = tenant.database
                system = database.name == SYSTEM_DATABASE
                return 200, {"result": {"name": database.name, "id": database.id, "path": "none", "isSystem": system}}
            case "GET", "user":
                return 200, {"result": sorted(self._tenants)}
        if tenant.database.name != SYSTEM_DATABASE:
            raise ServerError(1230, "operation only allowed in system database")
        match request.method, *request.path[1:]:
            case ("GET",):
                return 200, {"result": sorted(self._tenants)}
            case ("POST",):
                return self._create_database(request.body.get("name"))
            case "DELETE", name:
                if name not in self._tenants:
                    raise ServerError(1228, "database not found")
                del self._tenants[name]
                return 200, {"result": True}
        return _unknown_path(tenant, request)

    def _create_database(self, name: Any) -> Reply:
        self._forbid_writes()
        if not isinstance(name, str) or not _DATABASE_NAME.fullmatch(name):
            raise ServerError(1229, "database name invalid")
        if name in self._tenants:
            raise ServerError(1207, "duplicate database name")
        self._tenants[name] = _Tenant(name)
        return 201, {"result": True}

    def _read_collections(self, tenant: _Tenant, request: Request) -> Reply:
        collections = tenant.database.collections
        match request.path[1:]:
            case ():
                return 200, {"result": [collection.describe() for collection in collections.values()]}
            case (name,) | (name, "properties"):
                return 200, tenant.database.collection(name).describe()
            case (name, "count"):
                collection = tenant.database.collection(name)
                return 200, {**collection.describe(), "count": len(collection.documents)}
        return _unknown_path(tenant, request)

    def _create_collection(self, tenant: _Tenant, request: Request) -> Reply:
        self._forbid_writes()
        kind, system = request.body.get("type", 2), bool(request.body.get("isSystem"))
        if kind not in (2, 3):
            raise ServerError(1218, "collection type invalid")
        created = tenant.database.create_collection(request.body.get("name"), edge=kind == 3, system=system)
        return 200, created.describe()

    def _index(self, tenant: _Tenant, request: Request) -> Reply:
        if "collection" not in request.parameters:
            raise ServerError(10, "expecting query parameter 'collection'")
        collection = tenant.database.collection(request.parameters["collection"])
        if request.method == "GET":
            own = [index.describe(collection.name) for index in collection.indexes]
            return 200, {"indexes": [*collection.builtin_indexes(), *own]}
        self._forbid_writes()
        index, new = tenant.database.create_index(collection, request.body)
        return 201 if new else 200, {**index.describe(collection.name), "isNewlyCreated": new}

    def _graph(self, tenant: _Tenant, request: Request) -> Reply:
        graphs = tenant.database.graphs
        match request.method, *request.path[1:]:
            case ("GET",):
                return 200, {"graphs": [graph.describe() for graph in graphs.values()]}
            case "GET", name:
                if name not in graphs:
                    raise ServerError(1924, f"graph '{name}' not found")
                return 200, {"graph": graphs[name].describe()}
            case ("POST",):
                self._forbid_writes()
                graph = _read_graph(request.body)
                tenant.database.create_graph(graph)
                return 201 if request.parameters.get("waitForSync") in ("1", "true") else 202, {
                    "graph": graph.describe()
                }
        return _unknown_path(tenant, request)

    def _cursor(self, tenant: _Tenant, request: Request) -> Reply:
        match request.method, *request.path[1:]:
            case ("POST",):
                return self._query(tenant, request)
            case (("POST" | "PUT"), number):
                return 200, tenant.cursors.next(number)
            case "DELETE", number:
                tenant.cursors.close(number)
                return 202, {"id": number}
        return _unknown_path(tenant, request)

    def _query(self, tenant: _Tenant, request: Request) -> Reply:
        body = request.body
        query, binds = body.get("query"), body.get("bindVars") or {}
        if not isinstance(query, str):
            raise ServerError(1502, "query is empty")
        number = request.headers.get("x-arango-trx-id")
        stream = tenant.transactions.get(number) if number is not None else None
        written = written_collections(query, binds)
        if written:
            self._forbid_writes()
        if stream is None:
            self._wait_for_locks(tenant, written, frozenset(), _LOCK_TIMEOUT_S)
        failing = bool((body.get("options") or {}).get("failOnWarning"))
        outcome = run(tenant.database, tenant.transactions, query, binds, stream=stream, fail_on_warning=failing)
        return 201, tenant.cursors.first(outcome, body, number)

    def _wait_for_locks(
        self, tenant: _Tenant, writes: frozenset[str], exclusive: frozenset[str], timeout_s: float
    ) -> None:
        def free() -> bool:
            tenant.transactions.expire(self.idle_timeout_s)
            return not tenant.transactions.blocked(writes, exclusive)

        if not free() and not self._changed.wait_for(free, timeout_s):
            raise ServerError(18, "timeout waiting to lock a collection")

    def _transaction(self, tenant: _Tenant, request: Request) -> Reply:
        transactions = tenant.transactions
        match request.method, *request.path[1:]:
            case "POST", "begin":
                return self._begin(tenant, request.body)
            case ("GET",):
                return 200, {"transactions": [{"id": number, "state": "running"} for number in transactions.running()]}
            case ("GET" | "PUT" | "DELETE") as method, number:
                if not number.isdigit():
                    raise ServerError(10, "bad transaction ID")
                if method != "GET":
                    transactions.finish(number, "committed" if method == "PUT" else "aborted")
                    tenant.cursors.close_of(number)
                return 200, {"result": {"id": number, "status": transactions.status(number)}}
        return _unknown_path(tenant, request)

    def _begin(self, tenant: _Tenant, body: dict[str, Any]) -> Reply:
        declared = body.get("collections")
        timeout_s = body.get("lockTimeout", _LOCK_TIMEOUT_S)
        if not isinstance(declared, dict) or not declared.keys() <= {"read", "write", "exclusive"} or timeout_s < 0:
            raise ServerError(10, "invalid 'collections' or 'lockTimeout'")
        reads, writes, exclusive = (_names(declared.get(kind, [])) for kind in ("read", "write", "exclusive"))
        for name in sorted(reads | writes | exclusive):
            tenant.database.collection(name)
        if writes | exclusive:
            self._forbid_writes()
        self._wait_for_locks(tenant, writes | exclusive, exclusive, timeout_s)
        transaction = tenant.transactions.begin(
            reads, writes | exclusive, exclusive, implicit_reads=body.get("allowImplicit") is True
        )
        return 201, {"result": {"id": transaction.id, "status": "running"}}


def _names(declared: Any) -> frozenset[str]:
    names = [declared] if isinstance(declared, str) else declared
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ServerError(10, "invalid 'collections'")
    return frozenset(names)


def _read_graph(body: dict[str, Any]) -> Graph:
    name = body.get("name")
    if not isinstance(name, str) or not name:
        raise ServerError(1922, "graph name missing")
    definitions: list[tuple[str, list[str], list[str]]] = []
    for definition in body.get("edgeDefinitions") or []:
        if not isinstance(definition, dict) or not all(definition.get(part) for part in ("collection", "from", "to")):
            raise ServerError(1923, "malformed edge definition")
        definitions.append((definition["collection"], sorted(definition["from"]), sorted(definition["to"])))
    return Graph(name, definitions, list(body.get("orphanCollections") or []))


def _unknown_path(_tenant: _Tenant, request: Request) -> Reply:
    raise ServerError(404, f"unknown path '/_api/{'/'.join(request.path)}' for {request.method}", 404)
