"""The knowledge base as callers use it: corpora, sources, ingestion and search of one app (004 §6.2)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..ports.services import LearningService
from ..ports.stores.corpora import IngestionService
from ..values.access.identity import app_owner
from ..values.base import Scalar
from ..values.documents.corpora import KnowledgeQuery, KnowledgeResult, SearchConfig, SourceState
from ..values.errors import Unavailable
from .corpora import Corpora
from .search import KnowledgeSearch
from .sources import NewDocument, Sources, Submitted


@dataclass(frozen=True)
class Question:
    """A search as it is asked.

    Args:
        changes: Fields of the `SearchConfig` that differ from the corpus', or from the default for several corpora.
        metadata: See `KnowledgeQuery`.
    """

    query: str
    changes: Mapping[str, Any]
    metadata: Mapping[str, Scalar | list[Scalar]]


class KnowledgeBase:
    """The parts together; every call is for one app.

    Args:
        corpora: Creates and configures corpora.
        sources: Takes documents in.
        ingestion: Builds what waits.
        learning: Feeds the vector index from the outbox, in the background.
        searching: Returns the search of the live vector space.
    """

    def __init__(
        self,
        *,
        corpora: Corpora,
        sources: Sources,
        ingestion: IngestionService,
        learning: LearningService,
        searching: Callable[[], Awaitable[KnowledgeSearch]],
    ) -> None:
        self.corpora = corpora
        self.sources = sources
        self._ingestion = ingestion
        self._learning = learning
        self._searching = searching

    async def ingest(
        self, corpus_id: str, documents: Sequence[NewDocument], *, app: str, wait: bool = False
    ) -> list[Submitted]:
        """Takes documents in; with `wait` it returns when they are ready or have failed, or after a while.

        Raises:
            CorpusNotFound: The app has no such corpus.
            InvalidMetadata: The corpus does not allow the metadata; nothing is kept.
        """
        submitted = await self.sources.submit(corpus_id, documents, app=app)
        self._ingestion.notify()
        return [await self.settled(each, app=app) for each in submitted] if wait else submitted

    async def roll_back(
        self,
        corpus_id: str,
        source_id: str,
        version: int,
        *,
        app: str,
        expected_version: int | None = None,
        wait: bool = False,
    ) -> Submitted:
        """Goes back to a former version of a source; see `Sources.roll_back`."""
        queued = Submitted(
            await self.sources.roll_back(corpus_id, source_id, version, app=app, expected_version=expected_version)
        )
        self._ingestion.notify()
        return await self.settled(queued, app=app) if wait else queued

    async def delete_corpus(self, corpus_id: str, *, app: str) -> int:
        """Deletes a corpus; see `Corpora.delete`. The index follows in the background."""
        deleted = await self.corpora.delete(corpus_id, app=app)
        self._learning.notify(user_id=app_owner(app))
        return deleted

    async def delete_source(self, corpus_id: str, source_id: str, *, app: str) -> int:
        """Deletes a source; see `Sources.delete`. The index follows in the background."""
        deleted = await self.sources.delete(corpus_id, source_id, app=app)
        self._learning.notify(user_id=app_owner(app))
        return deleted

    async def settled(self, submitted: Submitted, *, app: str) -> Submitted:
        """What became of a version; as it was where it is not ready in time, or the ingestion does not answer."""
        version = submitted.version
        if version.state is not SourceState.PENDING:
            return submitted
        try:
            finished = await self._ingestion.finish(version.source_id, version.version, app=app)
        except Unavailable:  # the work is safe, and the reply says that it waits
            return submitted
        return submitted if finished is None else Submitted(finished)

    async def search(self, question: Question, *, app: str, corpus_id: str) -> KnowledgeResult:
        """Searches one corpus, with its own configuration and the changes.

        Raises:
            CorpusNotFound: The app has no such corpus.
            InvalidSearchConfig: A change is out of its range.
        """
        corpus = await self.corpora.get(corpus_id, app=app)
        return await self._search(question, corpus.config.search, app=app, corpus_ids=[corpus_id])

    async def search_several(
        self, question: Question, *, app: str, corpus_ids: Sequence[str] | None = None
    ) -> KnowledgeResult:
        """Searches several corpora as one, with the default configuration and the changes.

        Args:
            question: What is asked.
            app: The app.
            corpus_ids: Ids of corpora; None for all of the app.

        Raises:
            CorpusNotFound: The app has no such corpus.
            InvalidSearchConfig: A change is out of its range.
        """
        if corpus_ids is None:
            corpus_ids = [corpus.corpus_id for corpus in await self.corpora.list(app=app)]
        return await self._search(question, SearchConfig(), app=app, corpus_ids=corpus_ids)

    async def _search(
        self, question: Question, config: SearchConfig, *, app: str, corpus_ids: Sequence[str]
    ) -> KnowledgeResult:
        request = KnowledgeQuery(
            app=app,
            query=question.query,
            corpus_ids=tuple(dict.fromkeys(corpus_ids)),
            config=config.changed(dict(question.changes)),
            metadata=dict(question.metadata),
        )
        return await (await self._searching()).search(request)
