"""Of a chunk, the sentences around the words of the question are read (004 §5.2)."""

from hypothesis import given
from hypothesis import strategies as st

from memory.knowledge.excerpts import MAX_WIDTH, find_excerpt
from memory.language.keywords import KeywordAnalyzer

ANALYZER = KeywordAnalyzer()
BEFORE, AFTER = "開箱前請先看說明。" * 15, "其他問題請洽客服。" * 15


def test_the_sentence_with_the_words_is_given_with_as_many_around_it_as_fit() -> None:
    excerpt = find_excerpt(f"{BEFORE}電池的保固期為十八個月。{AFTER}", {"保固", "固期"}, ANALYZER)
    assert "電池的保固期為十八個月。" in excerpt
    assert 100 < len(excerpt) < 140  # a Han character is three letters wide


def test_latin_letters_are_narrow() -> None:
    content = "Read the leaflet first. " * 15 + "The battery warranty lasts eighteen months. " + "Call us. " * 40
    excerpt = find_excerpt(content, ANALYZER.content_terms("How long is the warranty?"), ANALYZER)
    assert "eighteen months" in excerpt
    assert MAX_WIDTH - 30 < len(excerpt) <= MAX_WIDTH


def test_a_short_chunk_and_one_without_any_of_the_words_are_whole() -> None:
    assert find_excerpt("電池的保固期為十八個月。", {"保固"}, ANALYZER) == "電池的保固期為十八個月。"
    assert find_excerpt(BEFORE, ANALYZER.content_terms("warranty"), ANALYZER) == BEFORE


@given(st.lists(st.sampled_from(["保固十八個月。", "The warranty lasts. ", "好" * 200 + "。", "\n"]), max_size=40))
def test_an_excerpt_is_a_run_of_the_chunk_and_wide_only_for_one_sentence(sentences: list[str]) -> None:
    content = "".join(sentences)
    excerpt = find_excerpt(content, {"保固", "warranti"}, ANALYZER)
    assert excerpt in content
    if ("保固" in content or "warranty" in content) and "保固十八個月" not in excerpt:
        assert "warranty" in excerpt
