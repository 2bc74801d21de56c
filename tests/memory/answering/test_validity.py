"""Of a memory that says what held and what holds, the words of what holds."""

import pytest

from memory.answering.validity import words_that_hold
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
        ("Hull", (LEEDS, YORK, HULL), "Hull"),
        ("Leeds", (LEEDS, HULL), "Leeds"),
        ("Leeds", (LEEDS, stated("Bath", Standing.HOLDS)), "Leeds"),
        ("Leeds", (LEEDS, stated("York", Standing.HOLDS, predicate="works_at")), "Leeds"),
        ("", (LEEDS, YORK), ""),
        ("Leeds but moved to York", (LEEDS.model_copy(update=TOLD_AS_PAST), YORK), "York"),
        ("Leeds", (LEEDS.model_copy(update={"standing": Standing.HELD}), OUTDATED_YORK), "Leeds"),
    ],
)
def test_words_of_what_is_out_of_date_give_way_to_what_holds(
    words: str, validity: tuple[Validity, ...], held: str
) -> None:
    assert words_that_hold(STREETS, words, validity) == held
