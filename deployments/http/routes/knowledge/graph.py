"""Knowledge graphs (004 §8, §11.2): `/knowledge/graph…`.

Shared by all users of an app: any credential of the app may read them, and one of scope `app` or `admin` may change
them. Only `…/memory` is about a user.
"""

from typing import Annotated

from fastapi import APIRouter, Query

from memory.knowledge.graph.communities import find_communities
from memory.knowledge.graph.linking import entities_of_node
from memory.knowledge.graph.queries import MAX_HOPS, MAX_NODES, GraphPlace, Match
from memory.values.base import utc_now
from memory.values.documents.graphs import GraphVersion

from ...identity.operators import APP_OR_ADMIN, AUDITED, IdentityDep
from ...schemas.fields import Identifier
from ...schemas.knowledge.graphs import (
    ActivateBody,
    BuildGraphBody,
    CommunitiesReply,
    EvidenceList,
    GraphVersionList,
    MemoryLinkList,
    NodeList,
    PathsReply,
    SubgraphReply,
    WriteBackBody,
)
from ...schemas.operations.pipelines import RunDetail
from ...schemas.users import UserQuery
from ...support.problems import replies
from ...support.service_route import KnowledgeRoute
from ...support.services import ServicesDep

router = APIRouter(
    prefix="/knowledge/graph/{corpus_id}",
    tags=["knowledge graph"],
    responses=replies(404, 500),
    route_class=KnowledgeRoute,
)
_CHANGING = [APP_OR_ADMIN, AUDITED]
VersionQuery = Annotated[int | None, Query(ge=1, le=2**31, description="Default: the version that is shown.")]
NodesLimit = Annotated[int, Query(ge=1, le=MAX_NODES)]


@router.post("/build", status_code=202, responses=replies(409), dependencies=_CHANGING)
async def build_graph(
    corpus_id: Identifier, body: BuildGraphBody, services: ServicesDep, identity: IdentityDep
) -> RunDetail:
    """Builds a version beside the one that is shown, as a run: an update extracts only what changed.

    Follow it at `/knowledge/pipelines/{run_id}/events`. 409 while another build of this graph waits or runs.
    """
    run = await services.graphs.build(
        corpus_id, app=identity.app, full=body.full, strategy=body.strategy, activate=body.activate
    )
    return RunDetail.of(run, now=utc_now())


@router.get("/versions")
async def list_graph_versions(corpus_id: Identifier, services: ServicesDep, identity: IdentityDep) -> GraphVersionList:
    """The versions of a graph, latest first."""
    return GraphVersionList(results=tuple(await services.graphs.versions.list(corpus_id, app=identity.app)))


@router.post("/versions/{version}/activate", responses=replies(409), dependencies=_CHANGING)
async def activate_graph_version(
    corpus_id: Identifier, version: int, body: ActivateBody, services: ServicesDep, identity: IdentityDep
) -> GraphVersion:
    """Shows a version that is ready."""
    return await services.graphs.versions.activate(
        corpus_id, version, app=identity.app, expected_version=body.expected_version
    )


@router.post("/rollback", responses=replies(409), dependencies=_CHANGING)
async def roll_graph_back(
    corpus_id: Identifier, body: ActivateBody, services: ServicesDep, identity: IdentityDep
) -> GraphVersion:
    """Shows the version before the one that is shown."""
    return await services.graphs.versions.roll_back(corpus_id, app=identity.app, expected_version=body.expected_version)


@router.post("/write-back", responses=replies(409), dependencies=_CHANGING)
async def write_graph_back(
    corpus_id: Identifier, body: WriteBackBody, services: ServicesDep, identity: IdentityDep
) -> GraphVersion:
    """Makes a version with a person's corrections, and shows it; later builds keep them."""
    return await services.graphs.versions.write_back(
        corpus_id, body.corrections(), app=identity.app, expected_version=body.expected_version
    )


@router.get("")
async def view_graph(
    corpus_id: Identifier,
    services: ServicesDep,
    identity: IdentityDep,
    version: VersionQuery = None,
    limit: NodesLimit = 100,
) -> SubgraphReply:
    """The largest nodes of a graph with the edges between them, for a view."""
    view = await services.graphs.queries.view(GraphPlace(identity.app, corpus_id, version), limit=limit)
    return SubgraphReply(**dict(view))


@router.get("/communities")
async def list_communities(
    corpus_id: Identifier,
    services: ServicesDep,
    identity: IdentityDep,
    version: VersionQuery = None,
    limit: NodesLimit = 500,
) -> CommunitiesReply:
    """The communities of the largest nodes (Louvain), those with most nodes first."""
    place = GraphPlace(identity.app, corpus_id, version)
    return CommunitiesReply(**dict(await find_communities(services.graphs.queries, place, limit=limit)))


@router.get("/nodes")
async def find_nodes(
    corpus_id: Identifier,
    services: ServicesDep,
    identity: IdentityDep,
    name: Annotated[Identifier, Query(description="Compared without width, case and script.")],
    match: Annotated[Match | None, Query(description="Only one way of matching. Default: all three.")] = None,
    version: VersionQuery = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> NodeList:
    """Nodes of this name, those that it is an alias of, and those whose names begin so."""
    place = GraphPlace(identity.app, corpus_id, version)
    return NodeList(results=tuple(await services.graphs.queries.find(place, name, match=match, limit=limit)))


@router.get("/nodes/{node_id}/neighbours")
async def list_neighbours(
    corpus_id: Identifier,
    node_id: Identifier,
    services: ServicesDep,
    identity: IdentityDep,
    hops: Annotated[int, Query(ge=1, le=2)] = 1,
    version: VersionQuery = None,
    limit: Annotated[int, Query(ge=1, le=MAX_NODES, description="The most neighbours.")] = 50,
) -> SubgraphReply:
    """A node with what can be reached from it, over the heaviest edges first, and the edges between them."""
    place = GraphPlace(identity.app, corpus_id, version)
    return SubgraphReply(**dict(await services.graphs.queries.neighbours(place, node_id, hops=hops, limit=limit)))


@router.get("/nodes/{node_id}/evidence")
async def list_node_evidence(
    corpus_id: Identifier,
    node_id: Identifier,
    services: ServicesDep,
    identity: IdentityDep,
    version: VersionQuery = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> EvidenceList:
    """The chunks that name a node, with source, page, headings and offsets."""
    place = GraphPlace(identity.app, corpus_id, version)
    return EvidenceList(results=tuple(await services.graphs.queries.node_evidence(place, node_id, limit=limit)))


@router.get("/nodes/{node_id}/memory")
async def list_memory_of_node(
    corpus_id: Identifier,
    node_id: Identifier,
    user_id: UserQuery,
    services: ServicesDep,
    identity: IdentityDep,
    version: VersionQuery = None,
) -> MemoryLinkList:
    """The entities of one user's memory that have the name of a node, or of its alias."""
    place = GraphPlace(identity.app, corpus_id, version)
    return MemoryLinkList(results=tuple(await entities_of_node(services.record, place, node_id, user_id=user_id)))


@router.get("/edges/{edge_id}/evidence")
async def list_edge_evidence(
    corpus_id: Identifier,
    edge_id: Identifier,
    services: ServicesDep,
    identity: IdentityDep,
    version: VersionQuery = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> EvidenceList:
    """The chunks that an edge comes from, the strongest first, with source, page, headings and offsets."""
    place = GraphPlace(identity.app, corpus_id, version)
    return EvidenceList(results=tuple(await services.graphs.queries.edge_evidence(place, edge_id, limit=limit)))


@router.get("/paths")
async def list_paths(
    corpus_id: Identifier,
    services: ServicesDep,
    identity: IdentityDep,
    source: Annotated[Identifier, Query(description="Id of the node where it begins.")],
    target: Annotated[Identifier, Query(description="Id of the node where it ends.")],
    hops: Annotated[int, Query(ge=1, le=MAX_HOPS, description="The most edges of a way.")] = MAX_HOPS,
    version: VersionQuery = None,
    limit: Annotated[int, Query(ge=1, le=50)] = 5,
) -> PathsReply:
    """The shortest ways between two nodes, whatever the direction of edges."""
    place = GraphPlace(identity.app, corpus_id, version)
    return PathsReply(**dict(await services.graphs.queries.paths(place, source, target, hops=hops, limit=limit)))
