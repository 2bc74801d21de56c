"""Parameters and replies of knowledge graphs (004 §8, §11.2)."""

from typing import Annotated

from pydantic import Field, StringConstraints

from memory.knowledge.graph.communities import Communities
from memory.knowledge.graph.linking import MemoryLink
from memory.knowledge.graph.queries import Evidence, FoundNode, Paths, Subgraph
from memory.knowledge.graph.strategies import StrategyName
from memory.knowledge.graph.versions import Corrections, EdgeEdit, NodeEdit
from memory.values.documents.graphs import CO_OCCURS, GraphVersion
from memory.values.understanding.mentions import EntitySubtype

from ..fields import Flag, Identifier, RequestModel, examples
from .bases import Number

MAX_EDITS = 1_000
RelationType = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


class BuildGraphBody(RequestModel):
    """How to build a version of a graph."""

    model_config = examples({"strategy": "patterns"})

    full: Flag = Field(default=False, description="Extract everything again; else only what changed.")
    strategy: StrategyName | None = Field(
        default=None,
        description="Default: that of the version that is shown, else the best one without a language model.",
    )
    activate: Flag = Field(default=True, description="Show the version when it is ready.")


class ActivateBody(RequestModel):
    """What is expected of the version that is shown now."""

    model_config = examples({})

    expected_version: Number | None = Field(default=None, description="409 where another version is shown.")


class NodeBody(RequestModel):
    """A node to add, or to give a kind."""

    name: Identifier
    kind: EntitySubtype | None = None


class EdgeBody(RequestModel):
    """An edge to add between two names, which become nodes where they are none."""

    source: Identifier
    target: Identifier
    type: RelationType = CO_OCCURS
    strength: float = Field(default=1.0, gt=0, le=1)


class WriteBackBody(RequestModel):
    """Corrections of the version that is shown."""

    model_config = examples(
        {
            "edges": [{"source": "台積電", "target": "新竹", "type": "located_in"}],
            "nodes": [{"name": "新竹", "kind": "place"}],
        }
    )

    nodes: tuple[NodeBody, ...] = Field(default=(), max_length=MAX_EDITS)
    edges: tuple[EdgeBody, ...] = Field(default=(), max_length=MAX_EDITS)
    remove: tuple[Identifier, ...] = Field(
        default=(), max_length=MAX_EDITS, description="Ids of nodes and edges; later builds leave them out, too."
    )
    restore: tuple[Identifier, ...] = Field(
        default=(), max_length=MAX_EDITS, description="Ids that were removed before."
    )
    expected_version: Number | None = Field(default=None, description="409 where another version is shown.")

    def corrections(self) -> Corrections:
        """What is to be corrected."""
        return Corrections(
            nodes=[NodeEdit(node.name, node.kind) for node in self.nodes],
            edges=[EdgeEdit(edge.source, edge.target, edge.type, edge.strength) for edge in self.edges],
            remove=self.remove,
            restore=self.restore,
        )


class GraphVersionList(RequestModel):
    """Versions of a graph, latest first; `active` is the one that is shown."""

    results: tuple[GraphVersion, ...]


class NodeList(RequestModel):
    """Nodes that a name means, the best match first."""

    results: tuple[FoundNode, ...]


class EvidenceList(RequestModel):
    """Where a node is named, or what states an edge."""

    results: tuple[Evidence, ...]


class MemoryLinkList(RequestModel):
    """Entities of one user's memory that are the same as a node."""

    results: tuple[MemoryLink, ...]


class SubgraphReply(Subgraph):
    """Nodes (`chunks` is their size) and edges (`weight`) to show; `complete` is false where a limit left some out."""


class PathsReply(Paths):
    """The shortest ways between two nodes."""


class CommunitiesReply(Communities):
    """Groups of nodes with more weight among themselves than to others."""
