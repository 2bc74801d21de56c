"""Parameters and replies of the knowledge base (004 §11.1)."""

from typing import Annotated, Any, Self

from pydantic import Field, JsonValue, StrictInt, StringConstraints

from memory.knowledge.sources import Submitted
from memory.values.base import WHOLE, Scalar, Whole
from memory.values.documents.corpora import (
    ConfigVersion,
    Corpus,
    CorpusConfig,
    KnowledgeResult,
    SearchConfig,
    Source,
    SourceState,
    SourceVersion,
)
from memory.values.documents.knowledge import MAX_CHUNK_SIZE, ChunkingStrategy

from ..fields import Flag, Identifier, Metadata, MetadataValue, RequestModel, Text, examples

MAX_DOCUMENT_CHARACTERS = 10_000_000
MAX_CORPORA = 100
Number = Annotated[StrictInt, Field(ge=1), WHOLE]
"""The number of a version."""
SourceUri = Annotated[str, StringConstraints(min_length=1, max_length=2_048, pattern=r"^[^\x00-\x1f\x7f]*$")]
Description = Annotated[str, StringConstraints(max_length=4_096)]
DocumentText = Annotated[str, StringConstraints(min_length=1, max_length=MAX_DOCUMENT_CHARACTERS)]


class CorpusBody(RequestModel):
    """A new corpus (004 §4)."""

    model_config = examples(
        {"name": "product-manuals", "description": "操作手冊與常見問題", "config": {"chunking": {"chunk_size": 400}}}
    )

    name: Identifier
    description: Description = ""
    config: CorpusConfig = CorpusConfig()


class ChunkingChange(RequestModel):
    """Fields of the chunking to change (004 §6.5); those left out stay."""

    strategy: ChunkingStrategy = ChunkingStrategy.RECURSIVE
    chunk_size: Whole = Field(default=500, json_schema_extra={"minimum": 1, "maximum": MAX_CHUNK_SIZE})
    overlap: Whole = Field(default=50, description="0 to half of `chunk_size`.", json_schema_extra={"minimum": 0})
    preserve_newlines: Flag = True


class SearchChange(SearchConfig):
    """Fields of the search to change (004 §6.5); those left out stay as they are configured."""


class ConfigChange(RequestModel):
    """Parts of the configuration to change; those left out stay."""

    chunking: ChunkingChange = ChunkingChange()
    search: SearchChange = SearchChange()
    metadata_schema: dict[str, JsonValue] | None = None


class CorpusChangeBody(RequestModel):
    """What to change of a corpus. A changed configuration is a new version, which later ingestion goes by."""

    model_config = examples({"config": {"search": {"mode": "rrf"}}, "expected_version": 1})

    description: Description | None = None
    config: ConfigChange | None = None
    expected_version: Number | None = Field(default=None, description="409 where the corpus has another one.")

    def config_changes(self) -> dict[str, Any] | None:
        """The fields of the configuration that were given."""
        return None if self.config is None else self.config.model_dump(exclude_unset=True)


class RollbackBody(RequestModel):
    """A former version to go back to."""

    model_config = examples({"version": 1})

    version: Number
    expected_version: Number | None = Field(default=None, description="409 where what is current has another one.")


class SourceRollbackBody(RollbackBody):
    """A former version of a source to go back to."""

    wait: Flag = Field(default=False, description="Reply when it is found again.")


class IngestTextBody(RequestModel):
    """A text to take into a corpus; files are sent as `multipart/form-data`."""

    model_config = examples(
        {"text": "# 保固\n\n保固期為兩年。", "source_uri": "manual://warranty", "metadata": {"year": 2026}}
    )

    text: DocumentText
    source_uri: SourceUri | None = Field(
        default=None, description="What identifies the document in its corpus. Default: a digest of the text."
    )
    media_type: Annotated[str, StringConstraints(max_length=256)] = "text/plain"
    metadata: Metadata = {}
    wait: Flag = Field(default=False, description="Reply when it is found, or has failed.")


class IngestFormFields(RequestModel):
    """The fields beside the files of a form."""

    source_uri: SourceUri | None = None
    metadata: Metadata = {}
    wait: bool = False


class SearchFilters(RequestModel):
    """Conditions on the documents of the results; all must hold."""

    metadata: dict[Identifier, MetadataValue | list[MetadataValue]] = Field(
        default={}, max_length=32, description="Compared for equality; a list means: any of these."
    )


class SearchKnowledgeBody(SearchChange):
    """A search in a corpus; what is left out is as its configuration says."""

    model_config = examples({"query": "電池在保固範圍內嗎？", "mode": "hybrid", "limit": 5})

    query: Text
    filters: SearchFilters = SearchFilters()

    def changes(self) -> dict[str, Any]:
        """The fields of the search that were given."""
        return self.model_dump(exclude_unset=True, exclude={"query", "filters", "corpus_ids"})

    def metadata(self) -> dict[str, Scalar | list[Scalar]]:
        """The conditions on metadata."""
        return dict(self.filters.metadata)


class SearchSeveralBody(SearchKnowledgeBody):
    """A search in several corpora of the app as one; what is left out has the default of the document."""

    model_config = examples({"query": "Is the battery under warranty?", "limit": 5})

    corpus_ids: tuple[Identifier, ...] | None = Field(
        default=None, min_length=1, max_length=MAX_CORPORA, description="Ids of corpora; default: all of the app."
    )


class CorpusReply(Corpus):
    """A corpus with the number of its chunks, of all versions that are kept."""

    chunk_count: int

    @classmethod
    def of(cls, corpus: Corpus, chunk_count: int) -> Self:
        """The reply for a corpus."""
        return cls(**dict(corpus), chunk_count=chunk_count)


class CorpusList(RequestModel):
    """The corpora of the app in the order of their names."""

    results: tuple[CorpusReply, ...]


class ConfigVersionList(RequestModel):
    """Versions of a configuration, latest first."""

    results: tuple[ConfigVersion, ...]


class IngestedSource(RequestModel):
    """What becomes of a document.

    `pending`: it waits, or is being indexed; `ready`: it is found; `failed`: `error` says why. `skipped`: it is as the
    current version, and nothing was done. `run_id` is the run that shows the progress.
    """

    source_id: str
    source_uri: str
    version: int
    state: SourceState
    skipped: bool
    chunk_count: int
    run_id: str
    error: str | None

    @classmethod
    def of(cls, submitted: Submitted) -> Self:
        """The reply for a version."""
        same = {name: getattr(submitted.version, name) for name in cls.model_fields if name != "skipped"}
        return cls(**same, skipped=submitted.skipped)


class IngestedList(RequestModel):
    """What becomes of the documents of a request, in their order."""

    results: tuple[IngestedSource, ...]


class SourceList(RequestModel):
    """A page of sources in the order of their ids; `next` is null on the last one."""

    results: tuple[Source, ...]
    next: str | None


class SourceVersionList(RequestModel):
    """Versions of a source, latest first."""

    results: tuple[SourceVersion, ...]


class Deleted(RequestModel):
    """How many chunks were deleted."""

    chunks: int


class KnowledgeReply(KnowledgeResult):
    """Chunks that were found, best first; `took_ms` has the milliseconds of each step."""
