"""Graph traversals (manual, "Graph traversals in AQL").

PRUNE stops below a vertex, which is still emitted. A vertex whose document does not exist is null. As on a cluster,
every vertex collection that a traversal meets must be named after WITH (1521).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..database.errors import ServerError
from ..database.store import Document
from ..database.values import truthy
from . import nodes
from .evaluator import Evaluate
from .execution import Execution, Row

_KNOWN_OPTIONS = {"order", "bfs", "uniqueVertices", "uniqueEdges"}


@dataclass(frozen=True)
class _Options:
    order: str = "dfs"
    vertices: str = "none"
    edges: str = "path"

    @classmethod
    def read(cls, given: dict[str, Any]) -> _Options:
        options = cls(
            "bfs" if given.get("bfs") is True else given.get("order", "dfs"),
            given.get("uniqueVertices", "none"),
            given.get("uniqueEdges", "path"),
        )
        known = (
            given.keys() <= _KNOWN_OPTIONS
            and options.order in ("bfs", "dfs")
            and options.vertices in ("none", "path", "global")
            and options.edges in ("none", "path")
        )
        if not known:
            raise ServerError(1539, f"AQL: invalid traversal option, or outside the subset: {given}")
        if options.vertices == "global" and options.order != "bfs":
            raise ServerError(10, "AQL: uniqueVertices: 'global' is only supported, with order: 'bfs'")
        return options


@dataclass(frozen=True)
class _Path:
    """A path: ids and documents of its vertices, and its edges."""

    ids: tuple[str, ...]
    vertices: tuple[Document | None, ...]
    edges: tuple[Document, ...] = ()


class _Edges:
    """The edges of some collections by their ends."""

    def __init__(self, execution: Execution, collections: list[str], direction: str) -> None:
        self._neighbours: dict[str, list[tuple[Document, str]]] = {}
        for name in collections:
            for edge in execution.scan(name):
                if direction in ("OUTBOUND", "ANY"):
                    self._add(edge["_from"], edge, edge["_to"])
                if direction == "INBOUND" or (direction == "ANY" and edge["_from"] != edge["_to"]):
                    self._add(edge["_to"], edge, edge["_from"])

    def _add(self, end: str, edge: Document, other: str) -> None:
        self._neighbours.setdefault(end, []).append((edge, other))

    def of(self, vertex: str) -> list[tuple[Document, str]]:
        """Edges at a vertex, with the vertex at the other end."""
        return self._neighbours.get(vertex, [])


def unknown_to_traversal(collection: str) -> ServerError:
    """A vertex collection that a traversal needs and WITH does not name."""
    return ServerError(
        1521,
        f"AQL: collection not known to traversal: '{collection}'. "
        f"please add 'WITH {collection}' as the first line in your AQL",
    )


def edge_collections(operation: nodes.Traversal, execution: Execution, graph: str | None) -> list[str]:
    """Names of the edge collections that a traversal follows.

    Raises:
        ServerError: 1203, 1218 for a collection of documents, 1924 for an unknown graph.
    """
    if graph is not None:
        if graph not in execution.database.graphs:
            raise ServerError(1924, f"AQL: graph '{graph}' not found")
        return [definition[0] for definition in execution.database.graphs[graph].definitions]
    for node in operation.edges:
        if not execution.collection(node).edge:
            raise ServerError(1218, f"AQL: collection type invalid: '{execution.name_of(node)}' holds no edges")
    return [execution.name_of(node) for node in operation.edges]


class TraversalCompiler:
    """Turns traversals into steps.

    Args:
        compile_expression: Compiles an expression.
    """

    def __init__(self, compile_expression: Callable[[nodes.Expression], Evaluate]) -> None:
        self._compile = compile_expression

    def compile(self, operation: nodes.Traversal) -> Callable[[Execution, list[Row], Row], list[Row]]:
        """A closure that gives a row for each path found from each row's start vertex."""
        start, low, high = (self._compile(node) for node in (operation.start, operation.low, operation.high))
        graph = self._compile(operation.graph) if operation.graph is not None else None
        prune = self._compile(operation.prune) if operation.prune is not None else None
        options = self._compile(operation.options) if operation.options is not None else None

        def step(execution: Execution, rows: list[Row], _outer: Row) -> list[Row]:
            depths = _depths(low(execution, {}), high(execution, {}))
            chosen = _Options.read(options(execution, {}) if options is not None else {})
            names = edge_collections(operation, execution, graph(execution, {}) if graph is not None else None)
            edges = _Edges(execution, names, operation.direction)
            result: list[Row] = []
            for row in rows:
                identifier = _identifier(execution, start(execution, row))
                if identifier is not None:
                    result.extend(walk(execution, row, _Walk(edges, chosen, *depths), identifier))
            return result

        def walk(execution: Execution, row: Row, walking: _Walk, identifier: str) -> Iterator[Row]:
            def bound(path: _Path) -> Row:
                return {**row, **_variables(operation, path)}

            def pruned(path: _Path) -> bool:
                return prune is not None and truthy(prune(execution, bound(path)))

            return map(bound, walking.paths(execution, identifier, pruned))

        return step


def _depths(low: Any, high: Any) -> tuple[int, int]:
    if (
        not all(isinstance(depth, int) and not isinstance(depth, bool) and depth >= 0 for depth in (low, high))
        or high < low
    ):
        raise ServerError(1501, f"AQL: invalid traversal depth: {low}..{high} (while parsing)")
    return low, high


def _identifier(execution: Execution, start: Any) -> str | None:
    identifier = start.get("_id") if isinstance(start, dict) else start
    if not isinstance(identifier, str) or not all(identifier.partition("/")):
        execution.warn(10, "Invalid input for traversal: Only id strings or objects with _id are allowed")
        return None
    return identifier


def _variables(operation: nodes.Traversal, path: _Path) -> Row:
    values: Row = {operation.vertex: path.vertices[-1]}
    if operation.edge is not None:
        values[operation.edge] = path.edges[-1] if path.edges else None
    if operation.path is not None:
        values[operation.path] = {"vertices": list(path.vertices), "edges": list(path.edges)}
    return values


@dataclass(frozen=True)
class _Walk:
    edges: _Edges
    options: _Options
    low: int
    high: int

    def paths(self, execution: Execution, start: str, pruned: Callable[[_Path], bool]) -> Iterator[_Path]:
        """Paths of the wanted lengths, breadth or depth first."""
        seen = {start}
        waiting = deque([_Path((start,), (self._vertex(execution, start),))])
        while waiting:
            path = waiting.popleft() if self.options.order == "bfs" else waiting.pop()
            depth = len(path.edges)
            if depth >= self.low:
                yield path
            if depth < self.high and not pruned(path):
                further = [
                    _Path((*path.ids, other), (*path.vertices, self._vertex(execution, other)), (*path.edges, edge))
                    for edge, other in self.edges.of(path.ids[-1])
                    if self._allowed(path, edge, other, seen)
                ]
                waiting.extend(further if self.options.order == "bfs" else reversed(further))

    def _allowed(self, path: _Path, edge: Document, other: str, seen: set[str]) -> bool:
        if self.options.edges == "path" and any(edge["_id"] == before["_id"] for before in path.edges):
            return False
        if self.options.vertices == "path":
            return other not in path.ids
        if self.options.vertices == "global":
            if other in seen:
                return False
            seen.add(other)
        return True

    def _vertex(self, execution: Execution, identifier: str) -> Document | None:
        collection = identifier.partition("/")[0]
        if collection not in execution.declared:
            raise unknown_to_traversal(collection)
        found = execution.lookup(identifier)
        if found is None:
            execution.warn(1202, f"document not found: {identifier}")
        return found
