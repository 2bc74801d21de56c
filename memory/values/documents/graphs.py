"""The knowledge graph of a corpus: versions, what was extracted of chunks, and nodes and edges (004 §2, §8, §11.2).

Only evidence is stored: mentions and links, each of one chunk. Nodes and edges are what the evidence of a version adds
up to, so that one without evidence does not exist.
"""

from enum import StrEnum

from ..base import Timestamp, Value
from ..understanding.mentions import EntitySubtype
from .corpora import AppValue, Span

CO_OCCURS = "co_occurs"
"""The type of an edge between names that stand together; the only one without a direction."""
ALIAS = "alias"
"""The type of an edge from a name to another name of the same thing."""
FULL_STRENGTH = 1_000
"""The strength of a link that a chunk states with certainty, in thousandths: whole numbers add up exactly."""
BY_HAND = ""
"""The source of what a person has added."""


class Finder(StrEnum):
    """What found a link: names in one sentence or in one chunk, a pattern, a language model, or a person."""

    SENTENCE = "sentence"
    CHUNK = "chunk"
    PATTERN = "pattern"
    MODEL = "model"
    HAND = "hand"


class FoundRelation(Value):
    """A relation between two names of a text.

    Args:
        source: A name as the text writes it; so is `target`.
        strength: Above 0, at most 1.
        span: From the first name to the last, or the words that state it.
    """

    source: str
    target: str
    type: str
    strength: float
    by: Finder
    span: Span


class GraphState(StrEnum):
    """How far a version of a graph is."""

    BUILDING = "building"
    READY = "ready"
    FAILED = "failed"


class GraphVersion(AppValue):
    """One version of the graph of a corpus.

    Args:
        version: From 1.
        active: Whether it is the one that is shown; one version of a corpus is.
        strategy: What extracted it: `patterns`, `reader` or `model`.
        run_id: The run that made it.
        node_count: When it was built; deleted sources take nodes with them.
        edge_count: Likewise.
        removed: Ids of nodes and edges that a person has taken out, in this version and in those before it.
        error: Why it failed.
    """

    corpus_id: str
    version: int
    state: GraphState = GraphState.BUILDING
    active: bool = False
    strategy: str
    run_id: str
    source_count: int = 0
    chunk_count: int = 0
    node_count: int = 0
    edge_count: int = 0
    removed: tuple[str, ...] = ()
    error: str | None = None
    created_at: Timestamp
    ended_at: Timestamp | None = None


class GraphExtraction(AppValue):
    """What one strategy extracts of one version of a source; versions of a graph share it.

    Args:
        source_id: `BY_HAND` for what a person has added.
        version: That of the source.
        done: So many of its chunks, in their order, are extracted.
    """

    extraction_id: str
    corpus_id: str
    source_id: str
    version: int
    done: int = 0


class GraphMention(Value):
    """A node in a chunk.

    Args:
        key: The name as it is compared.
        name: As the chunk writes it first.
        spans: Where it stands in the chunk; none for what a person has added.
        confidence: The highest of its mentions, 0 to 1.
        knowledge_id: The chunk; the extraction itself for what a person has added.
    """

    node_id: str
    key: str
    name: str
    kind: EntitySubtype | None = None
    spans: tuple[Span, ...] = ()
    confidence: float = 1.0
    knowledge_id: str


class GraphLink(Value):
    """An edge in a chunk.

    Args:
        strength: 1 to `FULL_STRENGTH`.
        span: The words that state it, from the first name to the last; None for what a person has added.
    """

    edge_id: str
    source_id: str
    target_id: str
    type: str
    strength: int
    by: Finder
    span: Span | None = None
    knowledge_id: str


class GraphNode(Value):
    """A node of a version.

    Args:
        name: The spelling of most chunks.
        names: All spellings, the most frequent first.
        mentions: How often it is named.
        chunks: In how many chunks: the size of the node.
    """

    node_id: str
    name: str
    names: tuple[str, ...]
    kind: EntitySubtype | None
    mentions: int
    chunks: int


class GraphRelation(Value):
    """An edge of a version; `weight` is the sum of its links' strengths, in units of a certain statement."""

    edge_id: str
    source_id: str
    target_id: str
    type: str
    weight: float
    chunks: int
