"""Which terms a text has: what must be found by keyword, and what makes no difference."""

import math
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.language.keywords import AVERAGE_LENGTH, K1, B, KeywordAnalyzer, term_id
from memory.values.text import to_simplified

ANALYZER = KeywordAnalyzer()

FOUND = [
    ("臺灣大學", "他在台大與台湾大学教書"),
    ("台灣", "我去過臺灣"),
    ("台湾", "我去過臺灣"),
    ("車位", "我的車位是 B2-17"),
    ("车位", "我的車位是 B2-17"),
    ("花生過敏", "她对花生过敏"),
    ("過敏", "她对花生过敏"),
    ("貓", "我養了一隻貓"),
    ("報價", "宏康HCI的報價單"),
    ("宏康", "宏康HCI的報價單"),
    ("hci", "宏康HCI的報價單"),
    ("宏康 HCI", "宏康HCI"),
    ("知識庫", "把文件放進知識庫裡"),
    ("RM05-008", "料號 RM05-008 缺貨"),
    ("rm05", "料號 RM05-008 缺貨"),
    ("008", "料號 RM05-008 缺貨"),
    ("ＲＭ０５－００８", "料號 RM05-008 缺貨"),
    ("AI-Box", "ai box"),
    ("box", "AI-Box"),
    ("1.20", "升級到 1.20 版"),
    ("1.20", "升級到 v1.20 版"),
    ("v2.3.1", "release V2.3.1 is out"),
    ("ISO 9001", "ISO9001、ISO 9001"),
    ("running", "he runs every day"),
    ("Cities", "a beautiful city"),
    ("allergies", "I have an allergy"),
    ("Alice", "Alice's dog"),
    ("Alice", "Alice’s dog"),
    ("cafe", "the Café"),
    ("C++", "I write c++ and C#"),
    ("c#", "I write c++ and C#"),
    ("ラーメン", "ラーメンを食べた"),
    ("한국", "한국어"),
]
NOT_FOUND = [
    ("1.20", "1.2 and 20"),
    ("的", "我的貓"),
    ("the", "the cat"),
    ("is it with you", "it is with you"),
    ("車位", "車子的位置"),
    ("RM05-008", "RM06-009"),
]


@pytest.mark.parametrize(("query", "document"), FOUND)
def test_a_query_finds_what_holds_its_words(query: str, document: str) -> None:
    assert set(ANALYZER.query_vector(query).indices) & set(ANALYZER.document_vector(document).indices)


@pytest.mark.parametrize(("query", "document"), NOT_FOUND)
def test_a_query_finds_nothing_by_function_words_or_pieces_of_numbers(query: str, document: str) -> None:
    assert not set(ANALYZER.query_vector(query).indices) & set(ANALYZER.document_vector(document).indices)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("RM05-008", ["rm05-008", "rm05", "008"]),
        ("1.20", ["1.20"]),
        ("v2.3.1", ["v2.3.1", "2.3.1"]),
        ("臺灣大學", ["台湾大学", "台湾", "湾大", "大学"]),
        ("宏康HCI", ["宏康", "宏康", "hci"]),
        ("I like running dogs", ["like", "run", "dog"]),
        ("", []),
        ("的了，。！😀", ["的了"]),
    ],
)
def test_the_terms_of_a_text(text: str, terms: list[str]) -> None:
    assert ANALYZER.terms(text) == terms


HAN = st.text(st.sampled_from("臺灣大學報價單車位過敏的我們養貓說書會議記錄"), max_size=20)
MIXED = st.one_of(
    st.text(max_size=40),
    st.lists(st.one_of(HAN, st.sampled_from(["AI-Box ", "v1.2", "Dogs' ", "ＨＣＩ"]))).map("".join),
)


@given(HAN)
def test_both_scripts_have_the_same_terms(text: str) -> None:
    assert ANALYZER.terms(text) == ANALYZER.terms(to_simplified(text))


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=30))
def test_both_widths_and_both_cases_have_the_same_terms(text: str) -> None:
    wide = "".join(chr(ord(character) + 0xFEE0) for character in text)
    assert ANALYZER.terms(text) == ANALYZER.terms(wide) == ANALYZER.terms(text.upper())


@given(MIXED)
def test_a_document_is_found_by_its_own_words_with_each_term_once(text: str) -> None:
    document, query = ANALYZER.document_vector(text), ANALYZER.query_vector(text)
    assert document.indices == query.indices == tuple(sorted(set(document.indices)))
    assert len(document.indices) == len(document.values)
    assert all(0 <= index < 2**32 for index in document.indices)
    assert all(0 < weight < K1 + 1 for weight in document.values)
    assert all(weight >= 1 for weight in query.values)


@given(MIXED)
def test_another_analyzer_gives_the_same_vector(text: str) -> None:
    assert KeywordAnalyzer().document_vector(text) == ANALYZER.document_vector(text)


@given(st.text(st.characters(exclude_categories=()), max_size=30))
def test_no_text_makes_it_raise(text: str) -> None:
    ANALYZER.document_vector(text)


def test_document_weights_are_the_term_part_of_bm25() -> None:
    text = "dog dog cat"
    document = ANALYZER.document_vector(text)
    vector = dict(zip(document.indices, document.values, strict=True))
    norm = K1 * (1 - B + B * 3 / AVERAGE_LENGTH)
    assert math.isclose(vector[term_id("dog")], 2 * (K1 + 1) / (2 + norm))
    assert math.isclose(vector[term_id("cat")], (K1 + 1) / (1 + norm))


def test_query_weights_are_how_often_a_term_occurs() -> None:
    vector = ANALYZER.query_vector("dog dog cat")
    assert dict(zip(vector.indices, vector.values, strict=True)) == {term_id("dog"): 2.0, term_id("cat"): 1.0}


def test_term_ids_never_change_between_releases() -> None:
    assert (term_id("dog"), term_id("台湾")) == (4148064672, 521776136)


def test_threads_may_share_an_analyzer() -> None:
    expected = ANALYZER.terms("running dogs 在臺灣")
    results: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: results.extend(ANALYZER.terms("running dogs 在臺灣") for _ in range(50)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 200


@pytest.mark.parametrize("piece", ["a", "a-", "「", "é", "1.", "台北"])
def test_long_monotonous_texts_are_read_to_their_end(piece: str) -> None:
    assert len(ANALYZER.document_vector(piece * (200_000 // len(piece))).indices) < 10
