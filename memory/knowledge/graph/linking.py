"""Joins nodes of an app's knowledge with what the memory of one of its users holds under the same names."""

from ...ports.stores.graphs import NodeQuery
from ...ports.stores.record import SystemOfRecord
from ...values.access.identity import app_owner
from ...values.base import Value
from ...values.entities import Entity
from .queries import GraphPlace, alias_ids, get_node, opened


class MemoryLink(Value):
    """An entity of a user's memory, and the name by which a node is the same."""

    entity: Entity
    name: str


async def entities_of_node(
    record: SystemOfRecord, place: GraphPlace, node_id: str, *, user_id: str
) -> list[MemoryLink]:
    """The entities of one user that have the name of a node, or of one that is its alias, as a name or an alias.

    Raises:
        CorpusNotFound: The app has no such corpus.
        KnowledgeNotFound: The graph has no such node.
    """
    async with record.reading(user_id=app_owner(place.app)) as unit:
        graph = await opened(unit, place)
        node = await get_node(unit, graph, node_id)
        ids = await alias_ids(unit, graph, node_id)
        aliases = await unit.knowledge_graph.nodes(graph, NodeQuery(ids, limit=len(ids)))
    found: dict[str, MemoryLink] = {}
    async with record.reading(user_id=user_id) as unit:
        for name in dict.fromkeys((node.name, *(alias.name for alias in aliases))):
            entity = await unit.entities.get_by_value(name)
            if entity is not None and entity.is_current:
                found.setdefault(entity.entity_id, MemoryLink(entity=entity, name=name))
    return [*found.values()]
