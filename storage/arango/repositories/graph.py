"""The graph of facts in ArangoDB: `fact_graph`, whose vertices are names in the form in which they are compared."""

from collections.abc import Iterable, Sequence

from typing_extensions import override

from memory.ports.stores.facts import GraphRepository
from memory.values.facts import GraphEdge

from ...shared.checks import check_owner
from ...shared.names import comparable
from ..engine import documents
from ..engine import queries as aql
from ..engine.documents import ArangoRepository
from ..engine.keys import Document, key_of, order_of
from ..engine.transaction import Query

_COLLECTION = "graph_edges"
_NODES = "graph_nodes"


class ArangoGraph(ArangoRepository, GraphRepository):
    """The graph of one user's facts; the key of an edge is that of its names."""

    @override
    async def create_many(self, edges: Sequence[GraphEdge]) -> list[str]:
        check_owner(edges, self._user_id)

        def work(query: Query) -> list[str]:
            ids = dict(query(aql.EDGE_IDS, keys=[self._key(edge) for edge in edges]))
            taken = set(query(aql.EDGES_WITH_IDS, orders=[order_of(edge.edge_id) for edge in edges]))
            added: list[GraphEdge] = []
            stored: list[str] = []
            for edge in edges:
                key = self._key(edge)
                if key not in ids and edge.edge_id not in taken:
                    ids[key] = edge.edge_id
                    taken.add(edge.edge_id)
                    added.append(edge)
                stored.append(ids.get(key, edge.edge_id))
            documents.put(query, _NODES, self._nodes(added))
            documents.put(query, _COLLECTION, [self._document(edge) for edge in added])
            return stored

        return await self._transaction.write(work)

    @override
    async def list_all(self) -> list[GraphEdge]:
        return await self._values(GraphEdge, aql.EDGES)

    @override
    async def delete_all(self) -> int:
        def work(query: Query) -> int:
            query(aql.REMOVE_NODES)
            return len(query(aql.REMOVE_EDGES))

        return await self._transaction.write(work)

    @override
    async def count(self) -> int:
        return await self._count(_COLLECTION)

    def _key(self, edge: GraphEdge) -> str:
        return key_of(self._user_id, *map(comparable, (edge.subject, edge.predicate, edge.object)))

    def _vertex(self, name: str) -> str:
        return f"{_NODES}/{key_of(self._user_id, comparable(name))}"

    def _nodes(self, edges: Sequence[GraphEdge]) -> Iterable[Document]:
        names = {comparable(name) for edge in edges for name in (edge.subject, edge.object)}
        return [{"_key": key_of(self._user_id, name), "name": name, "order": order_of(name)} for name in names]

    def _document(self, edge: GraphEdge) -> Document:
        return {
            "_key": self._key(edge),
            "_from": self._vertex(edge.subject),
            "_to": self._vertex(edge.object),
            "edge_id": edge.edge_id,
            "order": order_of(edge.edge_id),
            "body": edge.model_dump_json(),
        }
