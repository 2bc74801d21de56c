"""Of a memory that says what held and what holds, the words of what holds."""

import pytest

from memory.answering.validity import states_outdated, words_that_hold
from memory.values.facts import Ending, Standing, Validity

STREETS = "I used to live in Leeds but moved to York, and my brother is in Hull"


def stated(object_: str, standing: Standing, subject: str = "user", predicate: str = "lives_in") -> Validity:
    return Validity(fact_id=object_, subject=subject, predicate=predicate, object=object_, standing=standing)


LEEDS, YORK = stated("Leeds", Standing.OUTDATED), stated("York", Standing.HOLDS)
OUTDATED_YORK = YORK.model_copy(update={"standing": Standing.OUTDATED})
TOLD_AS_PAST = {"standing": Standing.HOLDS, "ending": Ending.ENDED}
HULL = stated("Hull", Standing.HOLDS, subject="brother")


@pytest.mark.parametrize(
    ("words", "validity", "held"),
    [
        ("Leeds", (LEEDS, YORK, HULL), "York"),
        ("Leeds but moved to York", (LEEDS, YORK), "York"),
        ("York", (LEEDS, YORK, HULL), "York"),
        ("Hull", (LEEDS, YORK, HULL), None),
        ("York", (YORK, HULL), None),
        ("Leeds", (LEEDS, HULL), None),
        ("Leeds", (LEEDS, stated("Bath", Standing.HOLDS)), None),
        ("Leeds", (LEEDS, stated("York", Standing.HOLDS, predicate="works_at")), None),
        ("", (LEEDS, YORK), None),
        ("Leeds but moved to York", (LEEDS.model_copy(update=TOLD_AS_PAST), YORK), "York"),
        ("Leeds", (LEEDS.model_copy(update={"standing": Standing.HELD}), OUTDATED_YORK), "Leeds"),
    ],
)
def test_of_several_values_the_words_of_what_holds_are_sure(
    words: str, validity: tuple[Validity, ...], held: str | None
) -> None:
    assert words_that_hold(STREETS, words, validity, validity) == held


@pytest.mark.parametrize(
    ("text", "words", "old", "new"),
    [
        ("我上次說錯了，允晴是六歲不是五歲", "六歲不是五歲", "五歲", "六歲"),
        ("我上次说错了，允晴是六岁不是五岁", "六岁不是五岁", "五岁", "六岁"),
        ("Actually Noah is 5, not 4", "not 4", "4", "5"),
        ("rent went from 4500 to 4800", "4800", "4500", "4800"),
    ],
)
def test_that_a_value_is_over_may_be_known_of_another_memory(text: str, words: str, old: str, new: str) -> None:
    known = [stated(old, Standing.OUTDATED, predicate="age"), stated(new, Standing.HOLDS, predicate="age")]
    assert words_that_hold(text, words, known[1:], known) == new
    assert words_that_hold(text, words, known[1:], known[1:]) is None


@pytest.mark.parametrize(
    ("text", "words", "is_over"),
    [
        ("Jess lives in Leeds with her husband Aaron", "Leeds", True),
        ("Jess lives in Leeds with her husband Aaron", "Aaron", False),
        ("Jess lives in Leeds with her husband Aaron", "Leeds with her husband Aaron", False),
        ("Jess lives in Leeds with her husband Aaron", "", False),
        ("潔西跟先生 Aaron 住在 Leeds", "Leeds", True),
        ("洁西跟先生 Aaron 住在 Leeds", "Aaron", False),
    ],
)
def test_words_of_what_is_over_are_outdated_whatever_else_their_clause_states(
    text: str, words: str, is_over: bool
) -> None:
    aaron = stated("Aaron", Standing.HOLDS, subject="Jess", predicate="spouse")
    assert states_outdated(text, words, (LEEDS, aaron)) is is_over


@pytest.mark.parametrize(
    ("number", "words", "is_over"),
    [
        ("5", "5", True),
        ("5", "15 May", False),
        ("5", "2.5 km", False),
        ("五歲", "十五歲", False),
        ("五歲", "今年五歲", True),
        ("週五", "週五十點", True),
    ],
)
def test_a_part_of_a_number_is_not_that_number(number: str, words: str, is_over: bool) -> None:
    aaron = stated("Aaron", Standing.HOLDS, subject="Jess", predicate="spouse")
    assert states_outdated(f"Aaron, {words}", words, (stated(number, Standing.OUTDATED), aaron)) is is_over
