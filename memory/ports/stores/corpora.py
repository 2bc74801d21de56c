"""The repositories of the knowledge of one app, and the role that ingests it (004 §4, §6.2).

A unit of work is bound to the owner of an app's knowledge (`memory.values.access.identity.app_owner`), as it is to a
user elsewhere: nothing in it can name another app. Vectors are a projection that the outbox feeds
(`Collection.KNOWLEDGE`).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from ...values.documents.corpora import ConfigVersion, Corpus, Knowledge, Source, SourceVersion

Corpora = list[Corpus]  # a class with a method `list` cannot spell the type inside


class CorpusRepository(ABC):
    """The corpora of one app; names are compared as they are written."""

    @abstractmethod
    async def get(self, corpus_ids: Sequence[str]) -> Corpora:
        """The corpora that exist, in the order of the ids."""

    @abstractmethod
    async def create(self, corpus: Corpus) -> bool:
        """Adds a corpus; False, and nothing changes, where the name or the id is taken."""

    @abstractmethod
    async def update(self, corpus: Corpus) -> None:
        """Replaces a corpus, whose name stays.

        Raises:
            CorpusNotFound: The app has none of this id.
        """

    @abstractmethod
    async def list(self) -> Corpora:
        """All corpora in the order of their names."""

    @abstractmethod
    async def delete(self, corpus_id: str) -> bool:
        """Deletes a corpus with the versions of its configuration; whether there was one. Sources stay."""

    @abstractmethod
    async def add_version(self, version: ConfigVersion) -> None:
        """Adds a version of a configuration; one whose number exists already is skipped."""

    @abstractmethod
    async def versions(self, corpus_id: str) -> Sequence[ConfigVersion]:
        """The versions of a corpus' configuration, latest first."""


class SourceRepository(ABC):
    """The sources of one app's corpora, with their versions."""

    @abstractmethod
    async def get(self, source_ids: Sequence[str]) -> Sequence[Source]:
        """The sources that exist, in the order of the ids."""

    @abstractmethod
    async def page(self, corpus_id: str, *, after: str | None = None, limit: int) -> Sequence[Source]:
        """Sources of a corpus in the order of their ids, from the first id greater than `after`."""

    @abstractmethod
    async def save(self, source: Source) -> None:
        """Inserts or replaces by `source_id`."""

    @abstractmethod
    async def delete(self, source_id: str) -> bool:
        """Deletes a source with its versions and their content; whether there was one. Chunks stay."""

    @abstractmethod
    async def versions(self, source_id: str) -> Sequence[SourceVersion]:
        """The versions of a source, latest first."""

    @abstractmethod
    async def add_version(self, version: SourceVersion, content: bytes) -> None:
        """Adds a version with its content; one whose number exists already is skipped."""

    @abstractmethod
    async def update_version(self, version: SourceVersion) -> None:
        """Replaces a version, whose content stays.

        Raises:
            KnowledgeNotFound: There is no such version.
        """

    @abstractmethod
    async def content(self, source_id: str, version: int) -> bytes | None:
        """The content of a version as it was given."""


class KnowledgeRepository(ABC):
    """The chunks of one app's sources (004's `knowledge`)."""

    @abstractmethod
    async def get(self, knowledge_ids: Sequence[str]) -> Sequence[Knowledge]:
        """The chunks that exist, in the order of the ids."""

    @abstractmethod
    async def page(self, *, after: str | None = None, limit: int) -> Sequence[Knowledge]:
        """Chunks in the order of their ids, from the first id greater than `after`."""

    @abstractmethod
    async def save(self, chunks: Sequence[Knowledge]) -> int:
        """Adds chunks that do not exist yet and queues them for the vector index; returns their number."""

    @abstractmethod
    async def ids(self, source_id: str, *, version: int | None = None, limit: int | None = None) -> Sequence[str]:
        """Ids of a source's chunks by version and index, of one version or of all."""

    @abstractmethod
    async def requeue(self, knowledge_ids: Sequence[str]) -> None:
        """Queues chunks for the vector index, which adds those of indexed versions and drops the others."""

    @abstractmethod
    async def delete(self, knowledge_ids: Sequence[str]) -> int:
        """Deletes chunks, queues them so that the index drops them, and returns their number."""

    @abstractmethod
    async def count(self, corpus_id: str) -> int:
        """The number of a corpus' chunks of all versions."""


class IngestionService(ABC):
    """Ingests what waits in the record (`Backlog.pending_sources`), in the background."""

    @abstractmethod
    def notify(self) -> None:
        """Announces new versions; returns at once."""

    @abstractmethod
    async def finish(self, source_id: str, version: int, *, app: str) -> SourceVersion | None:
        """Waits until a version is ingested or has failed, at most as long as the caller may; None where it is gone.

        Raises:
            Unavailable: The service is down or takes too long. The work is not lost.
        """
