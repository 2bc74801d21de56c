"""The score is a sum of named parts, and its confidence knows a tie."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from memory.coreference.antecedents.candidates import Candidate
from memory.coreference.antecedents.ranking import WEIGHTS, Ranked, confidence, rank, score
from memory.coreference.detect.detection import find_references
from memory.coreference.detect.references import Gender, Number

from memory.values.mentions import EntitySubtype
from memory.values.resolutions import ReferenceSource

_THING = Candidate(
    "Redis", "redis", ReferenceSource.SESSION, order=1, distance=1, subtype=EntitySubtype.PRODUCT, person=False
)
_WOMAN = replace(_THING, text="張小姐", key="张小姐", subtype=EntitySubtype.PERSON, person=True, gender=Gender.FEMALE)
(_IT,) = find_references("它好嗎")
(_HE,) = find_references("Is he in?")
(_COMPANY,) = find_references("這家公司好嗎")


def test_the_weights_sum_to_one() -> None:
    assert abs(sum(WEIGHTS.values()) - 1.0) < 1e-9


def test_certain_disagreement_drops_a_candidate() -> None:
    assert score(_IT, _WOMAN) is None
    assert score(_HE, _THING) is None
    assert score(_HE, _WOMAN) is None
    assert score(_COMPANY, _THING) is None
    assert score(_IT, replace(_THING, number=Number.PLURAL)) is None


def test_a_well_known_city_is_no_house() -> None:
    (hotel,), (there,) = find_references("How far is the hotel?"), find_references("How do I get there?")
    osaka, hilton = (
        replace(_THING, text=name, key=name.lower(), subtype=EntitySubtype.PLACE) for name in ("Osaka", "Hilton")
    )
    assert score(hotel, osaka) is None
    assert score(hotel, hilton) is not None
    assert score(there, osaka) is not None


def test_a_noun_is_not_replaced_by_itself() -> None:
    assert score(_COMPANY, replace(_THING, text="公司", key="公司", subtype=EntitySubtype.ORGANISATION)) is None


@given(
    distance=st.integers(0, 30), frequency=st.integers(1, 50), user=st.booleans(), subject=st.booleans(),
    named=st.booleans(), similarity=st.floats(0, 1),
)  # fmt: skip
def test_scores_and_features_lie_in_0_to_1(
    distance: int, frequency: int, user: bool, subject: bool, named: bool, similarity: float
) -> None:
    candidate = replace(_THING, distance=distance, frequency=frequency, user=user, subject=subject, named=named)
    ranked = score(_IT, candidate, similarity=similarity)
    assert ranked
    assert 0.0 <= ranked.score <= 1.0
    assert all(0.0 <= value <= 1.0 for value in ranked.features.values())


@given(distance=st.integers(1, 20))
def test_what_was_said_later_is_likelier(distance: int) -> None:
    near, far = score(_IT, replace(_THING, distance=distance)), score(_IT, replace(_THING, distance=distance + 1))
    assert near
    assert far
    assert near.score > far.score


def test_a_runner_up_costs_confidence_the_more_the_closer_it_is() -> None:
    best = Ranked(_THING, 0.8, {"agreement": 1.0})
    alone = confidence([best])
    clear, close, tie = (confidence([best, Ranked(_THING, runner_up)]) for runner_up in (0.4, 0.75, 0.8))
    assert alone == clear > close > tie
    assert confidence([]) == 0.0


def test_the_best_comes_first() -> None:
    farther = replace(_THING, text="Qdrant", key="qdrant", distance=5)
    assert [antecedent.candidate.text for antecedent in rank(_IT, [farther, _THING])] == ["Redis", "Qdrant"]


def test_what_another_session_called_by_this_noun_is_meant_before_any_later_name() -> None:
    (hotel,) = find_references("之前提到的酒店叫什么？")
    named = replace(
        _THING,
        text="云栖酒店",
        key="云栖酒店",
        source=ReferenceSource.LONG_TERM,
        subtype=EntitySubtype.ORGANISATION,
        distance=3,
    )
    later = replace(named, text="云谷园区", key="云谷园区", subtype=EntitySubtype.PLACE, distance=0)
    assert [antecedent.candidate.text for antecedent in rank(hotel, [later, named])] == ["云栖酒店"]
    assert [antecedent.candidate.text for antecedent in rank(hotel, [later])] == ["云谷园区"]
