"""Which questions stand in one query."""

import pytest

from memory.language.keywords import KeywordAnalyzer
from memory.language.question_parts import MOST, questions_of


@pytest.mark.parametrize(
    ("query", "also"),
    [
        ("我的手機是什麼型號？另外，金融論壇的地點是什麼？", ["我的手機是什麼型號", "金融論壇的地點是什麼"]),
        ("Where is the spare key? And when does the bank open?", ["Where is the spare key", "when does the bank open"]),
        ("Where is the spare key?", []),
        ("Hi! Where is the spare key?", []),
        ("Is Dr. Smith from the U.S. embassy there?", []),
        ("", []),
    ],
)
def test_each_sentence_that_says_something_is_a_question_beside_the_whole(query: str, also: list[str]) -> None:
    assert questions_of(query, KeywordAnalyzer()) == (query, *also)


def test_a_long_query_is_not_searched_for_sentence_by_sentence() -> None:
    query = " ".join(f"The blue box number {number} is open!" for number in range(20))
    assert len(questions_of(query, KeywordAnalyzer())) == 1 + MOST
