"""Collections, indexes and graphs of one database, as committed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import Any
from zlib import crc32

from .errors import ServerError
from .values import identity_key

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,255}")
_KEY = re.compile(r"[a-zA-Z0-9_:.@()+,=;$!*'%-]{1,254}")
_ticks = count(1000)

Document = dict[str, Any]


def tick() -> str:
    """A new number, as the server uses for ids, keys and revisions."""
    return str(next(_ticks))


def check_key(key: Any) -> str:
    """A document key as users may choose it (manual, "Document keys").

    Raises:
        ServerError: 1221.
    """
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise ServerError(1221, f"illegal document key: {key!r}")
    return key


@lru_cache(maxsize=100_000)
def scan_position(key: str) -> int:
    """Where a document comes in a scan: the order is documented to be undefined, so here it follows no visible rule."""
    return crc32(key.encode())


@dataclass
class Index:
    """A persistent index.

    Attributes:
        owners: For a unique index, the key of the document for each indexed value.
    """

    id: str
    name: str
    fields: tuple[str, ...]
    unique: bool
    sparse: bool
    definition: dict[str, Any]
    owners: dict[tuple[Any, ...], str] = field(default_factory=dict)

    def value(self, document: Document) -> tuple[Any, ...] | None:
        """The indexed value, or None where a sparse index leaves the document out."""
        values = [_path(document, path) for path in self.fields]
        if self.sparse and None in values:
            return None
        return identity_key(values)

    def describe(self, collection: str) -> dict[str, Any]:
        """The index as the server lists it."""
        return {**self.definition, "id": f"{collection}/{self.id}", "name": self.name}


def _path(document: Document, path: str) -> Any:
    value: Any = document
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


@dataclass
class Collection:
    """A collection.

    Attributes:
        documents: By key. Replaced, not changed, while a transaction holds it as its snapshot.
        changed: For each key ever written, the number of the commit that wrote it last.
    """

    name: str
    edge: bool
    system: bool = False
    id: str = field(default_factory=tick)
    documents: dict[str, Document] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)
    indexes: list[Index] = field(default_factory=list)

    def describe(self) -> dict[str, Any]:
        """The collection as the server lists it."""
        return {
            "id": self.id,
            "name": self.name,
            "status": 3,
            "type": 3 if self.edge else 2,
            "isSystem": self.system,
            "globallyUniqueId": f"h{self.id}/{self.id}",
        }

    def builtin_indexes(self) -> list[dict[str, Any]]:
        """The primary index and, for edges, the edge index."""
        primary = {"id": f"{self.name}/0", "type": "primary", "name": "primary", "fields": ["_key"], "unique": True}
        edge = {"id": f"{self.name}/2", "type": "edge", "name": "edge", "fields": ["_from", "_to"], "unique": False}
        return [{**index, "sparse": False} for index in ([primary, edge] if self.edge else [primary])]


@dataclass
class Graph:
    """A named graph: edge definitions as (edge collection, from, to)."""

    name: str
    definitions: list[tuple[str, list[str], list[str]]]
    orphans: list[str]
    revision: str = field(default_factory=tick)

    def vertices(self) -> set[str]:
        """Names of all vertex collections."""
        ends = {name for _, sources, targets in self.definitions for name in (*sources, *targets)}
        return ends | set(self.orphans)

    def describe(self) -> dict[str, Any]:
        """The graph as the server lists it."""
        return {
            "_key": self.name,
            "_id": f"_graphs/{self.name}",
            "_rev": self.revision,
            "name": self.name,
            "edgeDefinitions": [{"collection": edge, "from": low, "to": high} for edge, low, high in self.definitions],
            "orphanCollections": self.orphans,
        }


class Database:
    """One database, as committed; transactions read and write through `transactions.Transaction`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.id = tick()
        self.collections: dict[str, Collection] = {}
        self.graphs: dict[str, Graph] = {}

    def collection(self, name: str) -> Collection:
        """A collection by name.

        Raises:
            ServerError: 1203.
        """
        found = self.collections.get(name)
        if found is None:
            raise ServerError(1203, f"collection or view not found: {name}")
        return found

    def create_collection(self, name: Any, *, edge: bool, system: bool = False) -> Collection:
        """Add a collection.

        Raises:
            ServerError: 1207 where the name is taken, 1208 for an illegal name.
        """
        if not isinstance(name, str) or not _NAME.fullmatch(name.removeprefix("_") if system else name):
            raise ServerError(1208, f"illegal collection name '{name}'")
        if name in self.collections:
            raise ServerError(1207, f"duplicate name: {name}")
        self.collections[name] = Collection(name, edge, system)
        return self.collections[name]

    def create_index(self, collection: Collection, definition: dict[str, Any]) -> tuple[Index, bool]:
        """Add a persistent index, or find the same one.

        Returns:
            The index, and whether it is new.

        Raises:
            ServerError: 10 for a definition outside the subset, 1005 where the name belongs to another index, 1210
                where documents contradict a unique index.
        """
        kind, fields = definition.get("type"), definition.get("fields")
        known = {
            "type",
            "fields",
            "unique",
            "sparse",
            "name",
            "inBackground",
            "estimates",
            "deduplicate",
            "cacheEnabled",
        }
        if kind != "persistent" or not definition.keys() <= known | {"storedValues"}:
            raise ServerError(10, f"invalid index definition, or outside the subset: {definition}")
        if not isinstance(fields, list) or not fields or not all(isinstance(path, str) and path for path in fields):
            raise ServerError(10, "invalid index definition: fields")
        if any("[*]" in path for path in fields) or len(set(fields)) < len(fields):
            raise ServerError(10, "invalid index definition: fields, or outside the subset")
        unique, sparse = bool(definition.get("unique", False)), bool(definition.get("sparse", False))
        for existing in collection.indexes:
            if (existing.fields, existing.unique, existing.sparse) == (tuple(fields), unique, sparse):
                return existing, False
            if existing.name == definition.get("name"):
                raise ServerError(1005, f"duplicate value: index name '{existing.name}'")
        number = tick()
        described = {
            "type": "persistent", "fields": fields, "unique": unique, "sparse": sparse,
            "deduplicate": True, "estimates": True, "cacheEnabled": False,
        }  # fmt: skip
        index = Index(number, definition.get("name") or f"idx_{number}", tuple(fields), unique, sparse, described)
        if unique:
            for key, document in collection.documents.items():
                value = index.value(document)
                if value is not None and index.owners.setdefault(value, key) != key:
                    raise ServerError(
                        1210, f"unique constraint violated - in index {index.name}; conflicting key: {key}"
                    )
        collection.indexes.append(index)
        return index, True

    def create_graph(self, graph: Graph) -> None:
        """Add a named graph and the collections that it names and that do not exist.

        Raises:
            ServerError: 1925 where the name is taken; 1920 or 1921 where an edge collection is used twice; 1944 where
                it holds documents.
        """
        if graph.name in self.graphs:
            raise ServerError(1925, "graph already exists")
        edges = [definition[0] for definition in graph.definitions]
        if len(set(edges)) < len(edges):
            raise ServerError(1920, "multi use of edge collection in edge def")
        for other in self.graphs.values():
            for definition in other.definitions:
                if definition[0] in edges and definition not in graph.definitions:
                    raise ServerError(1921, f"edge collection '{definition[0]}' already used in edge def")
        for name in edges:
            if name in self.collections and not self.collections[name].edge:
                raise ServerError(1944, f"collection {name} is not an edge collection")
        for name in edges:
            if name not in self.collections:
                self.create_collection(name, edge=True)
        for name in sorted(graph.vertices()):
            if name not in self.collections:
                self.create_collection(name, edge=False)
        self.graphs[graph.name] = graph
