"""The graph of facts in memory."""

from collections.abc import Sequence

from typing_extensions import override

from memory.ports.stores.facts import GraphRepository
from memory.values.facts import GraphEdge

from ...shared.checks import check_owner
from .facts import statement_of
from .state import InMemoryRepository


class InMemoryGraph(InMemoryRepository, GraphRepository):
    """The graph of one user's facts."""

    @override
    async def create_many(self, edges: Sequence[GraphEdge]) -> list[str]:
        check_owner(edges, self._state.user_id)
        stored = self._state.writable.edges
        by_names = {statement_of(edge): edge_id for edge_id, edge in stored.items()}
        ids = []
        for edge in edges:
            edge_id = by_names.get(statement_of(edge), edge.edge_id)
            if edge_id not in stored:
                stored[edge_id] = edge
                by_names[statement_of(edge)] = edge_id
            ids.append(edge_id)
        return ids

    @override
    async def list_all(self) -> list[GraphEdge]:
        edges = self._state.readable.edges
        return [edges[edge_id] for edge_id in sorted(edges)]

    @override
    async def delete_all(self) -> int:
        edges = self._state.writable.edges
        count = len(edges)
        edges.clear()
        return count

    @override
    async def count(self) -> int:
        return len(self._state.readable.edges)
