"""Checks a query before it runs: bind variables, collections, and reads after writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

from ..database.errors import ServerError, syntax_error
from . import nodes
from .execution import Execution
from .functions import COLLECTION_FUNCTIONS
from .traversal import edge_collections, unknown_to_traversal

_FIELDS: dict[type, tuple[str, ...]] = {
    kind: tuple(field.name for field in fields(kind))
    for kind in vars(nodes).values()
    if isinstance(kind, type) and is_dataclass(kind)
}
_LEAVES = (str, bool, type(None), nodes.Literal, nodes.Bind, nodes.Variable)


def check_binds(query: nodes.Query, binds: Any) -> dict[str, Any]:
    """Check the bind variables against those in the query.

    Raises:
        ServerError: 1550, 1551 for one without a value, 1552 for a value that is not in the query, 1553 for a
            collection's name that is no string.
    """
    if not isinstance(binds, dict):
        raise ServerError(1550, "AQL: invalid structure of bind parameters")
    for name in query.binds - binds.keys():
        raise ServerError(1551, f"AQL: no value specified for declared bind parameter '{name}' (while parsing)")
    for name in binds.keys() - query.binds:
        raise ServerError(1552, f"AQL: bind parameter '{name}' was not declared in the query (while parsing)")
    for name, value in binds.items():
        if name.startswith("@") and not (isinstance(value, str) and value):
            raise ServerError(1553, f"AQL: bind parameter '{name}' has an invalid value or type (while parsing)")
    return binds


@lru_cache(maxsize=2_000)
def modifies(query: nodes.Query) -> frozenset[nodes.CollectionName]:
    """The collections that a query writes, also in subqueries."""
    return frozenset(node.collection for node in _walk(query) if isinstance(node, nodes.Modification))


def _children(node: Any) -> Iterator[Any]:
    if isinstance(node, tuple | list):
        yield from node
    else:
        yield from (getattr(node, name) for name in _FIELDS.get(type(node), ()))


def _walk(node: Any) -> Iterator[Any]:
    yield node
    for child in _children(node):
        yield from _walk(child)


def _parts(operation: nodes.Modification) -> list[Any]:
    """The expressions of a modification: all its parts but the collection."""
    return [getattr(operation, name) for name in _FIELDS[type(operation)] if name != "collection"]


@lru_cache(maxsize=2_000)
def check_form(query: nodes.Query) -> None:
    """Check what needs no database.

    Raises:
        ServerError: 1501 where LIMIT or a traversal's depth or options are no constants, 1573 for a modification within
            another.
    """
    for node in _walk(query):
        match node:
            case nodes.Limit():
                _check_constant(node, "LIMIT")
            case nodes.Traversal():
                _check_constant((node.low, node.high, node.options), "a traversal's depth and options")
            case nodes.Insert() | nodes.Change() | nodes.Remove() | nodes.Upsert():
                if any(isinstance(inner, nodes.Modification) for part in _parts(node) for inner in _walk(part)):
                    raise ServerError(1573, "AQL: multi-modify query")


def _check_constant(node: Any, what: str) -> None:
    if any(isinstance(inner, nodes.Variable | nodes.Subquery | nodes.CollectionName) for inner in _walk(node)):
        raise syntax_error(f"{what} needs constants")


class QueryCheck:
    """Checks one query against the database's collections and the transaction's declarations.

    Args:
        execution: The query about to run.
    """

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._written: set[str] = set()
        self._first_level: dict[str, int] = {}
        self._level = 0

    def check(self, query: nodes.Query) -> None:
        """Check a query.

        Raises:
            ServerError: 1203, 1218, 1521, 1568, 1579, 1652, 1924.
        """
        for node in query.collections:
            self._execution.transaction.check_read(self._execution.collection(node).name)
        self._visit(query.operations)

    def _visit(self, node: Any) -> None:
        if isinstance(node, _LEAVES):
            return
        match node:
            case nodes.For(source=nodes.CollectionName() as collection):
                self._read(collection)
            case nodes.Traversal():
                self._traversal(node)
            case nodes.Limit():
                pass
            case nodes.CollectionName():
                name = self._execution.collection(node).name
                raise ServerError(1568, f"AQL: collection '{name}' used as expression operand")
            case nodes.Call(function, arguments):
                self._call(function, arguments)
            case nodes.Subquery(query):
                self._level += 1
                self._visit(query.operations)
                self._level -= 1
            case nodes.Insert() | nodes.Change() | nodes.Remove() | nodes.Upsert():
                self._modification(node)
            case _:
                for child in _children(node):
                    self._visit(child)

    def _see(self, collection: nodes.CollectionName) -> str:
        name = self._execution.collection(collection).name
        self._first_level.setdefault(name, self._level)
        if name in self._written:
            raise ServerError(1579, f"AQL: access after data-modification by collection '{name}'")
        return name

    def _read(self, collection: nodes.CollectionName) -> None:
        self._execution.transaction.check_read(self._see(collection))

    def _call(self, function: str, arguments: tuple[nodes.Expression, ...]) -> None:
        if function == "DOCUMENT" and self._written:
            raise ServerError(1579, "AQL: access after data-modification by function DOCUMENT")
        if function in COLLECTION_FUNCTIONS and isinstance(arguments[0], nodes.CollectionName):
            self._read(arguments[0])
            arguments = arguments[1:]
        self._visit(arguments)

    def _modification(self, operation: nodes.Modification) -> None:
        self._visit(_parts(operation))
        name = self._see(operation.collection)
        self._execution.transaction.check_write(name)
        if self._first_level[name] < self._level:
            raise ServerError(1579, f"AQL: access after data-modification by collection '{name}'")
        self._written.add(name)

    def _traversal(self, operation: nodes.Traversal) -> None:
        if self._written:
            raise ServerError(1579, "AQL: access after data-modification by traversal")
        self._visit([operation.start, operation.prune])
        graph = self._graph(operation.graph)
        edges = edge_collections(operation, self._execution, graph)
        for name in edges:
            self._execution.transaction.check_read(name)
        self._check_declared(edges, graph)

    def _graph(self, node: nodes.Expression | None) -> str | None:
        match node:
            case nodes.Literal(value):
                return str(value)
            case nodes.Bind(name):
                return str(self._execution.binds[name])
            case _:
                return None

    def _check_declared(self, edges: list[str], graph: str | None) -> None:
        """Ask for WITH as a cluster would, from the graphs that these edges belong to, before any data shows it."""
        graphs = self._execution.database.graphs
        expected: set[str] = set(graphs[graph].vertices()) if graph is not None else set()
        for other in graphs.values():
            for edge, sources, targets in other.definitions:
                if edge in edges:
                    expected.update(sources, targets)
        missing = sorted(expected - self._execution.declared)
        if missing or not self._execution.declared:
            name = missing[0] if missing else "the vertex collections"
            raise unknown_to_traversal(name)
