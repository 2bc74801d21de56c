"""The graph of facts in memory."""

from collections.abc import Mapping, Sequence

from typing_extensions import override

from memory.ports.facts import GraphRepository
from memory.values.facts import GraphEdge

from ...shared.checks import check_owner
from ...shared.graphs import check_depth, check_weight, walk
from ...shared.names import comparable
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
    async def get_by_subject(self, subject: str) -> list[GraphEdge]:
        name = comparable(subject)
        return [edge for edge in await self.list_all() if statement_of(edge)[0] == name]

    @override
    async def get_neighbors(self, subject: str, *, depth: int = 1, limit: int = 100) -> Mapping[str, int]:
        check_depth(depth)
        pairs = [statement_of(edge)[::2] for edge in await self.list_all()]

        def step(frontier: Sequence[str], most: int) -> list[str]:
            found = {end for pair in pairs for near, end in (pair, pair[::-1]) if near in frontier}
            return sorted(found)[:most]

        return walk(comparable(subject), step, depth=depth, limit=limit)

    @override
    async def delete_by_subject(self, subject: str) -> int:
        edges = self._state.writable.edges
        deleted = await self.get_by_subject(subject)
        for edge in deleted:
            del edges[edge.edge_id]
        return len(deleted)

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

    @override
    async def update_weight(self, subject: str, predicate: str, object_: str, weight: float) -> bool:
        check_weight(weight)
        edges = self._state.writable.edges
        statement = (comparable(subject), comparable(predicate), comparable(object_))
        found = [edge for edge in edges.values() if statement_of(edge) == statement]
        for edge in found:
            edges[edge.edge_id] = edge.model_copy(update={"weight": weight})
        return bool(found)
