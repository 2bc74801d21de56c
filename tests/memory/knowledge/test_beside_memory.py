"""Chunks of documents beside memories: which are added, and which part of each (004 §5.2)."""

from datetime import UTC, datetime
from typing import Any

from typing_extensions import override

from memory.knowledge.base import KnowledgeBase
from memory.knowledge.beside_memory import CorpusRetriever
from memory.knowledge.corpora import CorpusChange
from memory.language.keywords import KeywordAnalyzer
from memory.ports.services import Retriever
from memory.ports.stores.corpora import IngestionService
from memory.values.access.identity import stored_user
from memory.values.documents.corpora import Corpus, SourceVersion
from memory.values.hits import Hit, HitKind, SearchRequest, SearchResult
from tests.memory.knowledge.library import APP, Library

NOW = datetime(2026, 3, 2, tzinfo=UTC)
MEMORY = Hit(kind=HitKind.MEMORY, id="m", text="the battery is from May", score=0.4, parts={}, created_at=NOW)


class OneMemory(Retriever):
    @override
    async def search(self, request: SearchRequest) -> SearchResult:
        return SearchResult(hits=(MEMORY,))


class NoWork(IngestionService):
    @override
    def notify(self) -> None:
        """Nothing waits."""

    @override
    async def finish(self, source_id: str, version: int, *, app: str) -> SourceVersion | None:
        return None


def retriever_of(library: Library) -> CorpusRetriever:
    async def searching() -> Any:
        return library.searching

    learning: Any = None  # nothing is deleted here
    base = KnowledgeBase(
        corpora=library.corpora,
        sources=library.sources,
        ingestion=NoWork(),
        learning=learning,
        searching=searching,
    )
    return CorpusRetriever(OneMemory(), knowledge=base, analyzer=KeywordAnalyzer())


async def search(library: Library, query: str, *corpora: Corpus | str, app: str = APP, **fields: Any) -> SearchResult:
    ids = tuple(corpus if isinstance(corpus, str) else corpus.corpus_id for corpus in corpora)
    request = SearchRequest(query=query, user_id=stored_user(app, "ann"), corpus_ids=ids, now=NOW, **fields)
    return await retriever_of(library).search(request)


async def test_chunks_and_memories_are_one_ranking_and_chunks_say_where_they_stand() -> None:
    library = Library()
    corpus = await library.create()
    await library.add(corpus, "The battery warranty lasts eighteen months.", "file:warranty")
    result = await search(library, "How long is the battery warranty?", corpus)
    assert [hit.kind for hit in result.hits] == [HitKind.KNOWLEDGE, HitKind.MEMORY]
    place = result.hits[0].place
    assert place is not None
    assert (place.corpus, place.source_uri) == ("manuals", "file:warranty")


async def test_what_asks_nothing_and_names_no_corpus_is_searched_in_memory_alone() -> None:
    library = Library()
    corpus = await library.create()
    await library.add(corpus, "The battery warranty lasts eighteen months.", "file:warranty")
    assert (await search(library, "battery warranty")).hits == (MEMORY,)
    assert (await search(library, "The battery is new.", corpus, asks=False)).hits == (MEMORY,)


async def test_a_corpus_that_is_gone_or_of_another_app_is_named_and_memory_answers() -> None:
    library = Library()
    corpus = await library.create()
    await library.add(corpus, "The battery warranty lasts eighteen months.", "file:warranty")
    for app, corpora in ((APP, ("gone",)), ("clinic", (corpus.corpus_id,))):
        result = await search(library, "How long is the battery warranty?", *corpora, app=app)
        assert (result.hits, result.degraded) == ((MEMORY,), ("knowledge",))


async def test_of_a_long_chunk_the_sentences_around_the_words_of_the_question_are_given() -> None:
    library = Library()
    corpus = await library.corpora.create("manuals", app=APP)
    before, after = "開箱前請先看說明。" * 15, "其他問題請洽客服。" * 15
    await library.add(corpus, f"{before}電池的保固期為十八個月。{after}", "file:long")
    hits = (await search(library, "電池的保固期多久？", corpus)).hits
    [text] = [hit.text for hit in hits if hit.kind is HitKind.KNOWLEDGE and "保固期" in hit.text]
    assert "電池的保固期為十八個月。" in text
    assert len(text) < len(before)


async def test_the_best_chunk_counts_1_whatever_the_mode_and_others_in_proportion() -> None:
    library = Library()
    corpus = await library.create()
    await library.corpora.change(corpus.corpus_id, CorpusChange(config={"search": {"mode": "rrf"}}), app=APP)
    await library.add(corpus, "The battery warranty lasts eighteen months.", "file:warranty")
    await library.add(corpus, "A battery is in the box.", "file:box")
    hits = (await search(library, "How long is the battery warranty?", corpus)).hits
    scores = [hit.score for hit in hits if hit.kind is HitKind.KNOWLEDGE]
    assert scores[0] == 1.0
    assert 0.9 < scores[1] < 1.0  # 1/62 over 1/61
