"""Answers from documents beside memory: a retriever that searches the corpora which a request names (004 §5.2)."""

import asyncio
from collections.abc import Sequence

import structlog
from typing_extensions import override

from ..language.keywords import KeywordAnalyzer
from ..ports.services import Retriever
from ..retrieval.retriever import log_degraded
from ..values.access.identity import app_and_user
from ..values.documents.corpora import KnowledgeHit, KnowledgeResult
from ..values.errors import CorpusNotFound, SearchError, Unavailable
from ..values.hits import Hit, HitKind, Place, SearchRequest, SearchResult
from .base import KnowledgeBase, Question
from .excerpts import find_excerpt

PART = "knowledge"
"""What is degraded while corpora cannot be searched."""
CHUNKS = 4
"""Chunks that are added to what memory finds."""
_log = structlog.get_logger(__name__)


class CorpusRetriever(Retriever):
    """Wraps a retriever: adds the chunks that fit a question best, of corpora of the user's own app and no other.

    A hit's score is the chunk's over that of the best chunk: scores of memories compare with the best memory, too, and
    those of corpora depend on the mode. Of a chunk that shares words with the question, the hit's text is the sentences
    around most of them (`excerpts`). A query that asks nothing searches memory alone. Corpora that cannot be searched,
    or are gone, are named in `degraded`.

    Args:
        retriever: Searches memory.
        knowledge: Searches corpora.
        analyzer: Splits texts into terms.
    """

    def __init__(self, retriever: Retriever, *, knowledge: KnowledgeBase, analyzer: KeywordAnalyzer) -> None:
        self._retriever = retriever
        self._knowledge = knowledge
        self._analyzer = analyzer

    @override
    async def search(self, request: SearchRequest) -> SearchResult:
        if not request.corpus_ids or request.asks is False:
            return await self._retriever.search(request)
        result, (chunks, degraded) = await asyncio.gather(self._retriever.search(request), self._chunks(request))
        hits = sorted([*result.hits, *chunks], key=lambda hit: -hit.score)
        return result.model_copy(update={"hits": tuple(hits), "degraded": (*result.degraded, *degraded)})

    async def _chunks(self, request: SearchRequest) -> tuple[list[Hit], tuple[str, ...]]:
        app, _ = app_and_user(request.user_id)
        question = Question(request.query, changes={"limit": CHUNKS}, metadata={})
        try:
            found = await self._search(question, app, request.corpus_ids)
        except (SearchError, Unavailable) as error:
            return [], (log_degraded(PART, error),)
        except CorpusNotFound as error:
            _log.warning("retrieval_degraded", part=PART, error=error.message)
            return [], (PART,)
        terms = self._analyzer.content_terms(request.query)
        best = max((chunk.score for chunk in found.results), default=0.0)
        return [self._hit(chunk, terms, best=best) for chunk in found.results], found.degraded

    def _hit(self, chunk: KnowledgeHit, terms: set[str], *, best: float) -> Hit:
        place = Place(
            corpus_id=chunk.corpus_id,
            corpus=chunk.corpus,
            source_uri=chunk.source_uri,
            title=chunk.title,
            page=chunk.page,
            headings=chunk.headings,
        )
        return Hit(
            kind=HitKind.KNOWLEDGE,
            id=chunk.knowledge_id,
            text=find_excerpt(chunk.content, terms, self._analyzer),
            score=chunk.score / best if best > 0 else 0.0,
            parts=chunk.parts,
            metadata=chunk.metadata,
            place=place,
            created_at=chunk.created_at,
        )

    async def _search(self, question: Question, app: str, corpus_ids: Sequence[str]) -> KnowledgeResult:
        """One corpus as its configuration says, several by the default."""
        if len(corpus_ids) == 1:
            return await self._knowledge.search(question, app=app, corpus_id=corpus_ids[0])
        return await self._knowledge.search_several(question, app=app, corpus_ids=corpus_ids)
