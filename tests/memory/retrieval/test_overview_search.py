"""A request for an overview searches the corpora that it names beside what is known."""

import pytest
from typing_extensions import override

from memory.language.keywords import KeywordAnalyzer
from memory.ports.services import Retriever
from memory.retrieval.overviews import OverviewRetriever
from memory.values.hits import Hit, HitKind, SearchRequest, SearchResult
from tests.memory.diary import Diary, day

LEAVE = Hit(
    kind=HitKind.KNOWLEDGE, id="leave", text="Leave is 25 days.", score=0.9, parts={}, created_at=day("2026-03-01")
)


class OfDocuments(Retriever):
    @override
    async def search(self, request: SearchRequest) -> SearchResult:
        return SearchResult(hits=(LEAVE,), unanswered=0.2)


@pytest.mark.parametrize(("corpora", "overview", "found"), [(("handbook",), True, 1), ((), True, 0), ((), False, 1)])
async def test_corpora_are_searched_for_what_memory_does_not_hold(
    diary: Diary, corpora: tuple[str, ...], overview: bool, found: int
) -> None:
    retriever = OverviewRetriever(OfDocuments(), record=diary.record, analyzer=KeywordAnalyzer())
    request = SearchRequest(
        query="tell me all about the leave policy", user_id="ann", overview=overview, corpus_ids=corpora, now=diary.now
    )
    result = await retriever.search(request)
    assert len(result.hits) == found
    assert result.unanswered == (0.2 if found else 1.0)


async def test_what_memory_holds_comes_first(diary: Diary) -> None:
    await diary.tell("2026-03-02", "Ivy plays the violin", "Ivy | instrument | violin")
    retriever = OverviewRetriever(OfDocuments(), record=diary.record, analyzer=KeywordAnalyzer())
    request = SearchRequest(query="Ivy: recap", user_id="ann", overview=True, corpus_ids=("handbook",), now=diary.now)
    result = await retriever.search(request)
    assert [hit.text for hit in result.hits] == ["Ivy plays the violin", "Leave is 25 days."]
    assert result.unanswered == 0.0
