"""Search in corpora: four modes, their formulas, filters, highlights, reranking and what is away (004 §5.2, §6.5)."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.ports.models.language import Priority, Reranker
from memory.retrieval.fusion import reciprocal_ranks
from memory.values.documents.corpora import Corpus, KnowledgeResult, Reranking, SearchConfig, SearchMode
from memory.values.errors import (
    CorpusNotFound,
    EmbeddingFailed,
    InvalidSearchConfig,
    ModelUnavailable,
    SearchError,
    StoreUnavailable,
)
from testing.fakes.reranker import FakeReranker
from tests.memory.knowledge.library import Library

DOCUMENTS = {
    "file:warranty": ("保固期為兩年，電池不在保固範圍內。", {"year": 2026, "kind": "policy"}),
    "file:delivery": ("Delivery takes three days, and five days to the islands.", {"year": 2025, "kind": "policy"}),
    "file:office": ("新竹的辦公室在三樓，机房在地下室。", {"year": 2026, "kind": "guide"}),
}


async def stocked(**rerankers: Reranker) -> tuple[Library, Corpus]:
    library = Library(rerankers={Reranking(name): reranker for name, reranker in rerankers.items()})
    corpus = await library.create()
    for uri, (text, metadata) in DOCUMENTS.items():
        await library.add(corpus, text, uri, **metadata)
    return library, corpus


def uris(result: KnowledgeResult) -> list[str]:
    return [hit.source_uri for hit in result.results]


class AwayReranker(Reranker):
    async def rerank(
        self, query: str, passages: Sequence[str], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[float]:
        raise ModelUnavailable("it is away", component="reranker")


class TestModes:
    def test_the_defaults_are_those_of_the_document(self) -> None:
        config = SearchConfig()
        assert (config.mode, config.rrf_k, config.reranking) == (SearchMode.HYBRID, 60, Reranking.NONE)

    @pytest.mark.parametrize("mode", SearchMode)
    async def test_each_mode_finds_the_passage_in_both_scripts(self, mode: SearchMode) -> None:
        library, corpus = await stocked()
        for query in ("電池的保固", "电池的保固"):
            result = await library.search(query, corpus, mode=mode)
            assert uris(result)[0] == "file:warranty"
            assert result.mode is mode

    async def test_semantic_is_the_cosine_and_keyword_is_bm25(self) -> None:
        library, corpus = await stocked()
        semantic = await library.search("電池的保固", corpus, mode="semantic")
        assert all(hit.score == hit.parts["cosine"] and "bm25" not in hit.parts for hit in semantic.results)
        assert (len(semantic.results), semantic.keyword_count) == (3, 0)
        keyword = await library.search("電池的保固", corpus, mode="keyword")
        assert all(hit.score == hit.parts["bm25"] and "cosine" not in hit.parts for hit in keyword.results)
        assert (uris(keyword), keyword.semantic_count) == (["file:warranty"], 0)

    async def test_hybrid_is_the_weighted_sum_of_its_parts(self) -> None:
        library, corpus = await stocked()
        for weights in ((0.5, 0.5), (0.9, 0.1), (1.0, 0.0), (0.0, 1.0)):
            given_ = {"semantic_weight": weights[0], "keyword_weight": weights[1]}
            result = await library.search("三樓的辦公室", corpus, **given_)
            for hit in result.results:
                parts = hit.parts
                expected = weights[0] * parts.get("semantic", 0.0) + weights[1] * parts.get("keyword", 0.0)
                assert hit.score == pytest.approx(expected)

    async def test_rrf_sums_the_ranks_of_both_legs(self) -> None:
        library, corpus = await stocked()
        result = await library.search("三樓的辦公室", corpus, mode="rrf", rrf_k=10)
        assert result.results[0].score == pytest.approx(1 / 11 + 1 / 11)
        assert result.results[0].parts["rrf"] == result.results[0].score

    @given(st.lists(st.lists(st.integers(0, 9), unique=True), max_size=4), st.integers(1, 1000))
    def test_reciprocal_ranks_are_the_formula(self, rankings: list[list[int]], k: int) -> None:
        scores = reciprocal_ranks(rankings, k=k)
        assert scores.keys() == {item for ranking in rankings for item in ranking}
        for item, score in scores.items():
            assert score == pytest.approx(
                sum(1 / (k + ranking.index(item) + 1) for ranking in rankings if item in ranking)
            )

    @pytest.mark.parametrize(
        "fields", [{"limit": 0}, {"limit": 1001}, {"semantic_weight": 1.5}, {"keyword_weight": -1}, {"rrf_k": 0}]
    )
    def test_a_parameter_out_of_its_range_is_refused(self, fields: dict[str, float]) -> None:
        with pytest.raises(InvalidSearchConfig) as refused:
            SearchConfig().changed(fields)
        assert refused.value.field in fields


class TestScope:
    async def test_filters_compare_metadata(self) -> None:
        library, corpus = await stocked()
        result = await library.search("辦公室", corpus, metadata={"year": 2026})
        assert set(uris(result)) == {"file:warranty", "file:office"}
        result = await library.search("辦公室", corpus, metadata={"year": [2025, 2024], "kind": "policy"})
        assert uris(result) == ["file:delivery"]
        assert (await library.search("辦公室", corpus, metadata={"kind": []})).results == ()

    async def test_several_corpora_are_one_ranking_and_others_are_not_searched(self) -> None:
        library, corpus = await stocked()
        second, third = await library.create("faq"), await library.create("drafts")
        await library.add(second, "辦公室的電話是分機 302。", "file:phone")
        await library.add(third, "辦公室的電話是分機 999。", "file:draft")
        result = await library.search("辦公室的電話", corpus, second)
        assert uris(result)[0] == "file:phone"
        assert {hit.corpus for hit in result.results} == {"manuals", "faq"}
        assert uris(await library.search("辦公室的電話", corpus, limit=1)) == ["file:office"]

    async def test_an_unknown_corpus_is_an_error(self) -> None:
        library, corpus = await stocked()
        other = await library.corpora.create("manuals", app="clinic")
        with pytest.raises(CorpusNotFound):
            await library.search("辦公室", corpus, other)

    async def test_highlights_are_the_words_of_the_query(self) -> None:
        library, corpus = await stocked()
        [hit] = (await library.search("how many days does a delivery take", corpus, mode="keyword")).results
        assert [hit.content[span.start : span.end] for span in hit.highlights] == ["Delivery", "takes", "days", "days"]
        hit = (await library.search("電池的保固", corpus)).results[0]
        assert [hit.content[span.start : span.end] for span in hit.highlights] == ["保固", "電池", "保固"]
        [hit] = (await library.search("機房", corpus, mode="keyword")).results
        assert [hit.content[span.start : span.end] for span in hit.highlights] == ["机房"]


class TestReranking:
    async def test_the_best_are_read_again(self) -> None:
        local = FakeReranker()
        library, corpus = await stocked(local=local)
        result = await library.search("電池的保固", corpus, reranking="local")
        assert (local.calls, result.degraded) == (1, ())
        for hit in result.results:
            assert hit.score == pytest.approx(0.4 * hit.parts["rerank"] + 0.6 * hit.parts["fused"])
        assert "rerank" not in (await library.search("電池的保固", corpus)).results[0].parts

    @pytest.mark.parametrize("kind", ["local", "api", "composite"])
    async def test_without_a_reranker_the_fused_ranking_stands(self, kind: str) -> None:
        for rerankers in ({}, {"local": AwayReranker(), "api": AwayReranker()}):
            library, corpus = await stocked(**rerankers)
            plain = await library.search("電池的保固", corpus)
            result = await library.search("電池的保固", corpus, reranking=kind)
            assert (result.results, result.degraded) == (plain.results, ("rerank",))

    async def test_composite_goes_on_with_the_next(self) -> None:
        local = FakeReranker()
        library, corpus = await stocked(api=AwayReranker(), local=local)
        result = await library.search("電池的保固", corpus, reranking="composite")
        assert (local.calls, result.degraded) == (1, ())


class TestDegraded:
    async def test_without_the_encoder_words_still_find(self) -> None:
        library, corpus = await stocked()

        async def away() -> None:
            raise ModelUnavailable("the engine is gone", component="embedder")

        library.encoder.before = away
        result = await library.search("電池的保固", corpus)
        assert (uris(result), result.degraded) == (["file:warranty"], ("vector",))
        with pytest.raises(EmbeddingFailed):
            await library.search("電池的保固", corpus, mode="semantic")
        assert (await library.search("電池的保固", corpus, mode="keyword")).degraded == ()

    async def test_without_the_index_there_is_no_answer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        library, corpus = await stocked()

        async def away(*_: object, **__: object) -> None:
            raise StoreUnavailable("gone", component="vectors")

        monkeypatch.setattr(library.index, "search", away)
        with pytest.raises(SearchError, match="gone"):
            await library.search("電池的保固", corpus)
