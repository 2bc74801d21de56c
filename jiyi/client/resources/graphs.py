"""Knowledge graphs of corpora: `/knowledge/graph/{corpus_id}…`."""

from collections.abc import Mapping, Sequence
from typing import Any

from deployments.http.schemas.knowledge.graphs import (
    CommunitiesReply,
    EvidenceList,
    GraphVersionList,
    MemoryLinkList,
    NodeList,
    PathsReply,
    SubgraphReply,
)
from deployments.http.schemas.operations.pipelines import RunDetail
from memory.values.documents.graphs import GraphVersion

from ..calls import Call, call, given, segment
from ..endpoints import Resource, T_co, endpoint


class Graphs(Resource[T_co]):
    """`client.graphs`. Where no `version` is given, the one that is shown is asked."""

    @endpoint
    def build(
        self, corpus_id: str, *, full: bool | None = None, strategy: str | None = None, activate: bool | None = None
    ) -> Call[RunDetail]:
        """`POST …/build`: the run; an update extracts only what changed."""
        return call("POST", f"{_graph(corpus_id)}/build", body=given(full=full, strategy=strategy, activate=activate))

    @endpoint
    def versions(self, corpus_id: str) -> Call[GraphVersionList]:
        """`GET …/versions`, latest first."""
        return call("GET", f"{_graph(corpus_id)}/versions")

    @endpoint
    def activate(self, corpus_id: str, version: int, *, expected_version: int | None = None) -> Call[GraphVersion]:
        """`POST …/versions/{version}/activate`."""
        body = given(expected_version=expected_version)
        return call("POST", f"{_graph(corpus_id)}/versions/{version}/activate", body=body)

    @endpoint
    def roll_back(self, corpus_id: str, *, expected_version: int | None = None) -> Call[GraphVersion]:
        """`POST …/rollback`: the version before the one that is shown."""
        return call("POST", f"{_graph(corpus_id)}/rollback", body=given(expected_version=expected_version))

    @endpoint
    def write_back(
        self,
        corpus_id: str,
        *,
        nodes: Sequence[Mapping[str, Any]] | None = None,
        edges: Sequence[Mapping[str, Any]] | None = None,
        remove: Sequence[str] | None = None,
        restore: Sequence[str] | None = None,
        expected_version: int | None = None,
    ) -> Call[GraphVersion]:
        """`POST …/write-back`: a version with a person's corrections."""
        body = given(nodes=nodes, edges=edges, remove=remove, restore=restore, expected_version=expected_version)
        return call("POST", f"{_graph(corpus_id)}/write-back", body=body)

    @endpoint
    def view(self, corpus_id: str, *, version: int | None = None, limit: int | None = None) -> Call[SubgraphReply]:
        """`GET /knowledge/graph/{corpus_id}`: the largest nodes with the edges between them."""
        return call("GET", _graph(corpus_id), params=given(version=version, limit=limit))

    @endpoint
    def communities(
        self, corpus_id: str, *, version: int | None = None, limit: int | None = None
    ) -> Call[CommunitiesReply]:
        """`GET …/communities` of the largest nodes."""
        return call("GET", f"{_graph(corpus_id)}/communities", params=given(version=version, limit=limit))

    @endpoint
    def find(
        self,
        corpus_id: str,
        name: str,
        *,
        match: str | None = None,
        version: int | None = None,
        limit: int | None = None,
    ) -> Call[NodeList]:
        """`GET …/nodes`: by name, alias or beginning of a name."""
        params = given(name=name, match=match, version=version, limit=limit)
        return call("GET", f"{_graph(corpus_id)}/nodes", params=params)

    @endpoint
    def neighbours(
        self,
        corpus_id: str,
        node_id: str,
        *,
        hops: int | None = None,
        version: int | None = None,
        limit: int | None = None,
    ) -> Call[SubgraphReply]:
        """`GET …/nodes/{node_id}/neighbours` over one hop or two."""
        params = given(hops=hops, version=version, limit=limit)
        return call("GET", f"{_node(corpus_id, node_id)}/neighbours", params=params)

    @endpoint
    def node_evidence(
        self, corpus_id: str, node_id: str, *, version: int | None = None, limit: int | None = None
    ) -> Call[EvidenceList]:
        """`GET …/nodes/{node_id}/evidence`."""
        params = given(version=version, limit=limit)
        return call("GET", f"{_node(corpus_id, node_id)}/evidence", params=params)

    @endpoint
    def memory(self, corpus_id: str, node_id: str, *, user_id: str, version: int | None = None) -> Call[MemoryLinkList]:
        """`GET …/nodes/{node_id}/memory`: entities of one user's memory."""
        params = given(user_id=user_id, version=version)
        return call("GET", f"{_node(corpus_id, node_id)}/memory", params=params)

    @endpoint
    def edge_evidence(
        self, corpus_id: str, edge_id: str, *, version: int | None = None, limit: int | None = None
    ) -> Call[EvidenceList]:
        """`GET …/edges/{edge_id}/evidence`."""
        params = given(version=version, limit=limit)
        return call("GET", f"{_graph(corpus_id)}/edges/{segment(edge_id)}/evidence", params=params)

    @endpoint
    def paths(
        self,
        corpus_id: str,
        source: str,
        target: str,
        *,
        hops: int | None = None,
        version: int | None = None,
        limit: int | None = None,
    ) -> Call[PathsReply]:
        """`GET …/paths` from one node to another, by their ids."""
        params = given(source=source, target=target, hops=hops, version=version, limit=limit)
        return call("GET", f"{_graph(corpus_id)}/paths", params=params)


def _graph(corpus_id: str) -> str:
    return f"/knowledge/graph/{segment(corpus_id)}"


def _node(corpus_id: str, node_id: str) -> str:
    return f"{_graph(corpus_id)}/nodes/{segment(node_id)}"
