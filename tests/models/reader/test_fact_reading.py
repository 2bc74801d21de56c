from memory.values.understanding.readings import NAMES_TURN, FactSpan, Qualifier, StatedFact
from models.reader.edit_search import EditChain
from models.reader.fact_decoding import DecodedFact
from models.reader.fact_reading import facts_of
from models.reader.features import Features
from models.reader.inference import Found
from tests.models.reader.toys import FOR_MEMORY, read

ROW = read("她上週搬到 New York 了", "", "我妹是小美", names=("宏康",))
"""Units: 宏康, 我妹是小美, 她上週搬到 New York 了."""


def facts(*decoded: DecodedFact, row: Features = ROW) -> list[StatedFact]:
    return facts_of(Found(row, (), (), 0.0, 0.0, 0.0, 0.0, FOR_MEMORY, EditChain((), 0.0, (), 1.0), decoded))


def fact(
    subject: tuple[int, int] | None,
    item: tuple[int, int],
    time: tuple[int, int] | None = None,
    probability: float = 0.9,
) -> DecodedFact:
    return DecodedFact(subject, "lives_in", item, (Qualifier.PAST,), time, probability)


def test_spans_are_offsets_into_the_message_a_turn_or_the_names() -> None:
    (stated,) = facts(fact((5, 6), (12, 13), (8, 9)))
    assert stated.object == FactSpan(text="New York", start=6, end=14)
    assert stated.subject == FactSpan(text="小美", start=3, end=5, turn=1)
    assert stated.time == FactSpan(text="上週", start=1, end=3)
    assert (stated.predicate, stated.qualifiers, stated.confidence) == ("lives_in", (Qualifier.PAST,), 0.9)
    (of_name,) = facts(fact((0, 1), (12, 13)))
    assert of_name.subject == FactSpan(text="宏康", start=0, end=2, turn=NAMES_TURN)


def test_the_speaker_has_no_span() -> None:
    (stated,) = facts(fact(None, (12, 13)))
    assert stated.subject is None
    assert stated.time is None


def test_of_equal_facts_the_most_probable_stays() -> None:
    row = read("小美和小美", "小美")
    first, second = fact(None, (2, 3), probability=0.5), fact(None, (5, 6), probability=0.7)
    stated = facts(first, second, fact(None, (2, 3), probability=0.6), row=row)
    assert [(known.object.start, known.confidence) for known in stated] == [(3, 0.7)]
    apart = facts(fact(None, (2, 3)), fact((0, 1), (4, 4)), fact(None, (4, 4)), row=row)
    assert len(apart) == 3


def test_nothing_is_said_of_a_thing_by_its_own_name() -> None:
    assert facts(fact((5, 6), (12, 13)), fact((12, 13), (12, 13)))[0].subject is not None
    assert len(facts(fact((12, 13), (12, 13)))) == 0


def test_confidence_is_a_probability_whatever_rounding_did() -> None:
    assert facts(fact(None, (12, 13), probability=1.0000001))[0].confidence == 1.0
