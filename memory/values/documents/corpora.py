"""Corpora, their sources and chunks: the knowledge that all users of an app share (004 §2, §4, §6.5)."""

from enum import StrEnum
from typing import Any, Self

from pydantic import Field, JsonValue, model_validator

from ..access.identity import DEFAULT_APP, AppId, app_owner
from ..base import Scalar, Timestamp, Value, Whole
from ..errors import InvalidSearchConfig
from .knowledge import BlockKind, ChunkingConfig

MAX_RESULTS = 1000
RRF_K = 60
"""The smoothing constant of reciprocal rank fusion (004 §6.5)."""


class SearchMode(StrEnum):
    """How chunks are found (004 §5.2)."""

    SEMANTIC = "semantic"
    KEYWORD = "keyword"
    HYBRID = "hybrid"
    RRF = "rrf"


class Reranking(StrEnum):
    """What reads the best chunks again, together with the query (004 §5.2).

    `composite` asks the reranking API, the local reranker where that is away, and leaves the ranking as it is where
    both are.
    """

    NONE = "none"
    LOCAL = "local"
    API = "api"
    COMPOSITE = "composite"


class SearchConfig(Value):
    """How a corpus is searched (004 §6.5).

    Args:
        limit: The most results.
        semantic_weight: Weight of the vectors' score in mode `hybrid`.
        keyword_weight: Weight of the keywords' score in mode `hybrid`.
        rrf_k: The smoothing constant of mode `rrf`: a rank counts as 1/(k + rank).

    Raises:
        InvalidSearchConfig: A number is out of its range.
    """

    mode: SearchMode = SearchMode.HYBRID
    limit: Whole = Field(default=10, json_schema_extra={"minimum": 1, "maximum": MAX_RESULTS})
    semantic_weight: float = Field(default=0.5, strict=True, json_schema_extra={"minimum": 0.0, "maximum": 1.0})
    keyword_weight: float = Field(default=0.5, strict=True, json_schema_extra={"minimum": 0.0, "maximum": 1.0})
    rrf_k: Whole = Field(default=RRF_K, json_schema_extra={"minimum": 1, "maximum": MAX_RESULTS})
    reranking: Reranking = Reranking.NONE

    @model_validator(mode="after")
    def _check_ranges(self) -> Self:
        for field, low, high in (
            ("limit", 1, MAX_RESULTS),
            ("semantic_weight", 0.0, 1.0),
            ("keyword_weight", 0.0, 1.0),
            ("rrf_k", 1, MAX_RESULTS),
        ):
            value = getattr(self, field)
            if not low <= value <= high:
                allowed = f"{low} to {high}"
                message = f"{field} is {value}, and must be {allowed}"
                raise InvalidSearchConfig(message, field=field, allowed=allowed)
        return self

    def changed(self, changes: dict[str, Any]) -> "SearchConfig":
        """A config with these fields changed and all checked again.

        Raises:
            InvalidSearchConfig: A number is out of its range.
        """
        return SearchConfig.model_validate({**self.model_dump(), **changes})


class CorpusConfig(Value):
    """How a corpus is cut into chunks and searched, and what metadata its documents may have.

    Args:
        metadata_schema: A JSON Schema for the metadata of each document; None allows any.
    """

    chunking: ChunkingConfig = ChunkingConfig()
    search: SearchConfig = SearchConfig()
    metadata_schema: dict[str, JsonValue] | None = None


class AppValue(Value):
    """A value that all users of an app share."""

    app: AppId = DEFAULT_APP

    @property
    def user_id(self) -> str:
        """The owner under which it is stored."""
        return app_owner(self.app)


class Corpus(AppValue):
    """A named container of knowledge, unique by app and name (004 §4).

    Args:
        config_version: That of `config`, from 1; it grows with every change, also with a rollback.
        version: Grows with every change of the corpus.
    """

    corpus_id: str
    name: str
    description: str = ""
    config: CorpusConfig = CorpusConfig()
    config_version: int = 1
    version: int = 1
    created_at: Timestamp
    updated_at: Timestamp


class ConfigVersion(AppValue):
    """One version of the configuration of a corpus; `restored` is the version that a rollback made it from."""

    corpus_id: str
    version: int
    config: CorpusConfig
    restored: int | None = None
    created_at: Timestamp


class Source(AppValue):
    """A document of a corpus by its URI, at its current version.

    Args:
        version: The version that is found; 0 before the first one is ready.
        building: The version that is being indexed; None where none is.
        chunk_count: Chunks of the current version.
    """

    source_id: str
    corpus_id: str
    source_uri: str
    title: str = ""
    version: int = 0
    building: int | None = None
    chunk_count: int = 0
    metadata: dict[str, Scalar] = {}
    created_at: Timestamp
    updated_at: Timestamp

    @property
    def indexed(self) -> tuple[int, ...]:
        """The versions whose chunks are in the vector index."""
        return (self.version,) if self.building is None else (self.version, self.building)


class SourceState(StrEnum):
    """How far a version of a source is."""

    PENDING = "pending"
    READY = "ready"
    FAILED = "failed"


class SourceVersion(AppValue):
    """What was ingested of a source at one time.

    Args:
        content_hash: SHA-256 of the content, in hexadecimal.
        name: The file's name; empty for text.
        chunking: As the corpus had it: the version is cut by this.
        run_id: The run that ingests it.
        error: Why it failed.
        queued_at: When it was asked for, first or again: what waits is ingested in this order.
    """

    source_id: str
    corpus_id: str
    source_uri: str
    version: int
    content_hash: str
    media_type: str
    name: str = ""
    title: str = ""
    metadata: dict[str, Scalar] = {}
    chunking: ChunkingConfig
    config_version: int
    state: SourceState = SourceState.PENDING
    size_bytes: int = 0
    chunk_count: int = 0
    run_id: str
    error: str | None = None
    created_at: Timestamp
    queued_at: Timestamp
    ended_at: Timestamp | None = None

    @property
    def place(self) -> tuple[Timestamp, str, int]:
        """Its place among those that wait."""
        return (self.queued_at, self.source_id, self.version)

    def is_same(self, other: "SourceVersion") -> bool:
        """Whether both are made from the same content in the same way."""
        fields = ("content_hash", "media_type", "metadata", "chunking")
        return all(getattr(self, field) == getattr(other, field) for field in fields)


class Knowledge(AppValue):
    """A chunk of one version of a source (004 §4's `knowledge`); fields as `values.knowledge.Chunk` has them."""

    knowledge_id: str
    corpus_id: str
    source_id: str
    source_uri: str
    version: int
    chunk_index: int
    content: str
    title: str = ""
    page: int | None = None
    headings: tuple[str, ...] = ()
    kind: BlockKind = BlockKind.PARAGRAPH
    repeated: int = 0
    metadata: dict[str, Scalar] = {}
    created_at: Timestamp


class KnowledgeQuery(AppValue):
    """A search in corpora of one app.

    Args:
        config: How to search; that of the corpus, or the default for several, with what the caller changes.
        metadata: What the metadata of a chunk must equal; a list means: any of these.
    """

    query: str
    corpus_ids: tuple[str, ...]
    config: SearchConfig = SearchConfig()
    metadata: dict[str, Scalar | list[Scalar]] = {}


class Span(Value):
    """A part of a text: offsets in characters, from 0, the end excluded."""

    start: int
    end: int


class KnowledgeHit(Value):
    """A chunk that a search found.

    `parts` are those of the score: the raw `cosine` and `bm25`; in mode `hybrid` `semantic` and `keyword` (0 to 1, as
    they entered the formula), `rrf` in that mode, and of a reranked chunk `fused` (the score before, 0 to 1 over the
    reranked ones), `rerank` (0 to 1) and `relevance` (as the reranker said it). `highlights` are the words of `content`
    that the query has.
    """

    knowledge_id: str
    corpus_id: str
    corpus: str
    source_id: str
    source_uri: str
    version: int
    chunk_index: int
    content: str
    title: str
    page: int | None
    headings: tuple[str, ...]
    kind: BlockKind
    metadata: dict[str, Scalar]
    score: float
    parts: dict[str, float]
    highlights: tuple[Span, ...] = ()
    created_at: Timestamp


class KnowledgeResult(Value):
    """Hits, best first.

    Args:
        semantic_count: Chunks that vectors found.
        keyword_count: Chunks that words found.
        degraded: Parts that could not answer: `vector`, `rerank`.
        took_ms: Milliseconds of each step: `embed`, `index`, `record`, `rerank`.
    """

    results: tuple[KnowledgeHit, ...] = ()
    mode: SearchMode
    semantic_count: int = 0
    keyword_count: int = 0
    degraded: tuple[str, ...] = ()
    took_ms: dict[str, float] = {}
