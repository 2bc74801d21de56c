"""Knowledge graphs (004 §2, §8, §11.2): the strategies that extract them, and the repository of one app's graphs."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from ...values.documents.graphs import (
    FoundRelation,
    GraphExtraction,
    GraphLink,
    GraphMention,
    GraphNode,
    GraphRelation,
    GraphVersion,
)
from ...values.understanding.mentions import Mention


class EntityExtractor(ABC):
    """A strategy that finds the names in chunks of documents (004 §8)."""

    @property
    @abstractmethod
    def version(self) -> str:
        """Which code and weights it is: what another version has extracted is extracted again."""

    @abstractmethod
    async def find(self, texts: Sequence[str]) -> list[list[Mention]]:
        """The names of each text, in text order, without overlaps.

        Raises:
            Unavailable: The model is away, and nothing else may do its work.
            Overloaded: Its queue is full.
        """


class RelationExtractor(ABC):
    """A strategy that finds relations between the names in chunks of documents (004 §8)."""

    @property
    @abstractmethod
    def version(self) -> str:
        """As that of an `EntityExtractor`."""

    @abstractmethod
    async def find(self, texts: Sequence[str], names: Sequence[Sequence[Mention]]) -> list[list[FoundRelation]]:
        """The relations of each text between its names.

        Raises:
            Unavailable: As for an `EntityExtractor`.
        """


@dataclass(frozen=True)
class NodeQuery:
    """Which nodes are meant, those in most chunks first, then by id.

    Args:
        node_ids: Of these ids; None for any.
        prefix: Whose name, as it is compared, begins so.
        limit: At most so many.
    """

    node_ids: Sequence[str] | None = None
    prefix: str = ""
    limit: int = 100


class KnowledgeGraphRepository(ABC):
    """The graphs of one app's corpora. Reading, a version shows the evidence of its members without what it removed."""

    @abstractmethod
    async def versions(self, corpus_id: str) -> Sequence[GraphVersion]:
        """The versions of a corpus' graph, latest first."""

    @abstractmethod
    async def save_version(self, version: GraphVersion) -> None:
        """Inserts or replaces by corpus and number."""

    @abstractmethod
    async def members(self, corpus_id: str, version: int) -> Sequence[str]:
        """The ids of the extractions that a version is made of, sorted."""

    @abstractmethod
    async def add_members(self, corpus_id: str, version: int, extraction_ids: Sequence[str]) -> None:
        """Adds extractions to a version; those that it has are skipped."""

    @abstractmethod
    async def extractions(self, extraction_ids: Sequence[str]) -> Sequence[GraphExtraction]:
        """The extractions that exist, in the order of the ids."""

    @abstractmethod
    async def save(
        self, extraction: GraphExtraction, mentions: Sequence[GraphMention], links: Sequence[GraphLink]
    ) -> None:
        """Inserts or replaces an extraction and adds evidence to it; what it has of a node or an edge in a chunk
        already stays as it is.
        """

    @abstractmethod
    async def nodes(self, graph: GraphVersion, query: NodeQuery) -> Sequence[GraphNode]:
        """Nodes of a version."""

    @abstractmethod
    async def edges(
        self, graph: GraphVersion, node_ids: Sequence[str], *, inside: bool = False, limit: int
    ) -> Sequence[GraphRelation]:
        """Edges of a version that touch these nodes, or join two of them, the heaviest first, then by id."""

    @abstractmethod
    async def mentions(self, graph: GraphVersion, node_ids: Sequence[str], *, limit: int) -> Sequence[GraphMention]:
        """The evidence of nodes, by chunk and node."""

    @abstractmethod
    async def links(self, graph: GraphVersion, edge_id: str, *, limit: int) -> Sequence[GraphLink]:
        """The evidence of an edge, the strongest first, then by chunk."""

    @abstractmethod
    async def count(self, graph: GraphVersion) -> tuple[int, int]:
        """The numbers of nodes and of edges of a version."""

    @abstractmethod
    async def prune(self, corpus_id: str, keep: Sequence[int]) -> int:
        """Deletes the other versions of a corpus' graph, and the extractions that no version is made of any more; the
        number of versions.
        """

    @abstractmethod
    async def delete_source(self, source_id: str) -> int:
        """Deletes what was extracted of a source, from all versions; the number of its extractions."""

    @abstractmethod
    async def delete_corpus(self, corpus_id: str) -> int:
        """Deletes all versions of a corpus' graph, and what they are made of; the number of versions."""
