"""The parts of a hybrid score: what words say is compared with the query, and languages do not shut each other out."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.knowledge.fusing import HYBRID, Fused, HybridFusion, words_together
from memory.language.keywords import KeywordAnalyzer
from memory.retrieval.fusion import below_best, min_max
from memory.values.documents.corpora import Knowledge, SearchConfig

ANALYZER = KeywordAnalyzer()
CONFIG = SearchConfig()


def chunk(id_: str, content: str, *, title: str = "") -> Knowledge:
    return Knowledge(
        knowledge_id=id_,
        corpus_id="manuals",
        source_id=id_,
        source_uri=f"file:{id_}",
        version=1,
        chunk_index=0,
        content=content,
        title=title,
        created_at=datetime(2026, 3, 1, tzinfo=UTC),
    )


def fuse(
    query: str, chunks: list[Knowledge], cosines: dict[str, float], bm25: dict[str, float], *, spread: float = 0.25
) -> dict[str, Fused]:
    return HybridFusion(ANALYZER, spread=spread).fuse(query, chunks, cosines, bm25, CONFIG)


class TestSemantic:
    def test_it_falls_from_the_best_cosine_to_0_over_the_spread(self) -> None:
        chunks = [chunk("a", "甲"), chunk("b", "乙"), chunk("c", "丙")]
        fused = fuse("丁", chunks, {"a": 0.9, "b": 0.8, "c": 0.6}, {})
        assert [fused[id_].semantic for id_ in "abc"] == pytest.approx([1.0, 0.6, 0.0])

    def test_what_words_alone_found_counts_as_the_lowest_that_vectors_found(self) -> None:
        chunks = [chunk("a", "甲"), chunk("b", "乙"), chunk("c", "電池")]
        fused = fuse("電池", chunks, {"a": 0.9, "b": 0.8}, {"c": 3.0})
        assert fused["c"].semantic == fused["b"].semantic == pytest.approx(0.6)

    @given(st.dictionaries(st.integers(), st.floats(-1, 1), max_size=8), st.floats(0.01, 2))
    def test_it_lies_in_0_to_1_and_keeps_the_order(self, scores: dict[int, float], spread: float) -> None:
        parts = below_best(scores, spread=spread)
        assert parts.keys() == scores.keys()
        assert all(0.0 <= part <= 1.0 for part in parts.values())
        assert all(parts[a] >= parts[b] for a in scores for b in scores if scores[a] >= scores[b])
        assert below_best(scores, spread=None) == min_max(scores)


class TestKeyword:
    def test_the_best_chunk_counts_as_much_as_it_has_of_the_query(self) -> None:
        whole, little = "電池的保固期是兩年", "電池"
        [all_] = fuse(whole, [chunk("a", whole)], {}, {"a": 9.0}).values()
        [some] = fuse(whole, [chunk("a", little)], {}, {"a": 9.0}).values()
        assert all_.keyword == pytest.approx(1.0)
        assert some.keyword < 0.5

    def test_words_that_stand_together_count_more_than_scattered_ones(self) -> None:
        near = "這裡說別的。充電器的保固期是三年。這裡說別的。這裡也說別的。"
        far = "充電器在盒裡。這裡說別的。這裡也說別的。保固期另外說明。這裡說別的。三年前開始。"
        fused = fuse("充電器的保固期是三年嗎", [chunk("near", near), chunk("far", far)], {}, {"near": 5.0, "far": 5.0})
        assert fused["near"].keyword > fused["far"].keyword

    def test_title_and_headings_stand_together_with_every_sentence(self) -> None:
        terms = frozenset(ANALYZER.terms("warranty of the charger"))
        titled, plain = chunk("a", "Its warranty is long.", title="Charger"), chunk("b", "Its warranty is long.")
        shares = words_together(terms, [titled, plain], analyzer=ANALYZER, sentences=2)
        assert shares[0] == pytest.approx(1.0)
        assert shares[1] < 1.0

    def test_only_the_best_chunks_are_read_and_the_others_stay_behind_them(self) -> None:
        chunks = [chunk(f"{number:02}", "電池的保固期") for number in range(HYBRID.read + 5)]
        cosines = {each.knowledge_id: 0.9 - number / 1000 for number, each in enumerate(chunks)}
        fused = fuse("電池的保固期", chunks, cosines, dict.fromkeys(cosines, 4.0))
        by_score = sorted(fused, key=lambda id_: -fused[id_].score)
        assert by_score == sorted(fused)
        assert fused[by_score[HYBRID.read - 1]].keyword == 1.0
        assert fused[by_score[HYBRID.read]].keyword == 1.0 - HYBRID.together


class TestLanguages:
    def test_a_chunk_in_another_language_is_not_beaten_by_a_few_shared_words(self) -> None:
        question = "充電器的保固期有多長？"
        answer = chunk("answer", "The warranty of the charger is three years.")
        other = chunk("other", "充電站在三樓，請洽櫃台。")
        fused = fuse(question, [answer, other], {"answer": 0.85, "other": 0.84}, {"other": 2.0})
        assert fused["answer"].keyword == HYBRID.foreign
        assert fused["answer"].score > fused["other"].score

    def test_nor_does_it_beat_one_of_the_own_language_that_has_the_words(self) -> None:
        question = "充電器的保固期有多長？"
        foreign = chunk("foreign", "The warranty of the charger is three years.")
        own = chunk("own", "充電器的保固期是三年。")
        fused = fuse(question, [foreign, own], {"foreign": 0.86, "own": 0.85}, {"own": 8.0})
        assert fused["own"].score > fused["foreign"].score

    def test_without_any_words_there_is_nothing_to_make_up_for(self) -> None:
        fused = fuse("電池", [chunk("a", "An English text.")], {"a": 0.9}, {})
        assert fused["a"].keyword == 0.0


def test_the_weights_are_those_of_the_configuration() -> None:
    config = SearchConfig(semantic_weight=0.9, keyword_weight=0.2)
    [each] = HybridFusion(ANALYZER).fuse("電池", [chunk("a", "電池")], {"a": 0.9}, {"a": 2.0}, config).values()
    assert each.score == pytest.approx(0.9 * each.semantic + 0.2 * each.keyword)
