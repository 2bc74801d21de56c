"""Words that mean the same in Chinese and in English: what a query is searched for in the other language."""

import pytest

from memory.language.glossary import WEIGHT, query_across, translations
from memory.language.keywords import KeywordAnalyzer, term_id
from memory.language.word_lists import entries

ANALYZER = KeywordAnalyzer()


@pytest.mark.parametrize(
    ("text", "meanings"),
    [
        ("我的健身房在哪？", {"gym"}),
        ("岳母对什么过敏", {"mother-in-law", "allergic"}),
        ("岳母對什麼過敏", {"mother-in-law", "allergic"}),
        ("停车费多少", {"parking"}),
        ("When is Ann's birthday?", {"生日"}),
        ("Are my nephews allergic?", {"过敏"}),
        ("gym 密碼", {"健身房", "password"}),
    ],
)
def test_words_are_known_in_the_other_language(text: str, meanings: set[str]) -> None:
    assert meanings <= set(translations(text, ANALYZER))


def test_of_words_within_each_other_the_longest_is_meant() -> None:
    assert "car" not in translations("火車站在哪", ANALYZER)
    assert translations("qwertz 123", ANALYZER) == []


def test_a_query_keeps_its_own_terms_and_those_of_the_other_language_weigh_less() -> None:
    own = ANALYZER.query_vector("我的健身房")
    across = query_across("我的健身房", ANALYZER)
    weights = dict(zip(across.indices, across.values, strict=True))
    assert {index: weights[index] for index in own.indices} == dict(zip(own.indices, own.values, strict=True))
    assert weights[term_id("gym")] == WEIGHT
    assert list(across.indices) == sorted(across.indices)


def test_every_group_has_words_of_both_languages() -> None:
    for entry in entries("glossary"):
        chinese, english = entry.split("\t")
        assert not any(word.isascii() or not word.strip() for word in chinese.split(","))
        assert all(word.isascii() and word.strip() for word in english.split(","))
