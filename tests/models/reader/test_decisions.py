import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from memory.values.understanding.mentions import EntitySubtype
from memory.values.understanding.readings import Action
from models.body.calibration import Calibration, logit, sigmoid
from models.reader.decisions import ReaderSettings, Thresholds
from models.reader.edit_search import EditChain, Filling
from models.reader.edits import Edit, Segment
from tests.models.reader.toys import toy_settings

PROBABILITIES = st.floats(0.001, 0.999)
WEIGHTS = st.floats(0.2, 3.0)
OFFSETS = st.floats(-3.0, 3.0)


def chain(keep: float) -> EditChain:
    return EditChain((Edit(0, 1, (Segment(0, 1),)),), -0.1, (-0.1,), keep, (Filling((0.9,)),))


@given(PROBABILITIES)
def test_the_logistic_function_undoes_the_log_odds(probability: float) -> None:
    assert sigmoid(logit(probability)) == pytest.approx(probability)
    assert Calibration()(probability) == pytest.approx(probability)


def test_certainties_are_bounded() -> None:
    assert sigmoid(logit(0.0)) == pytest.approx(0.0, abs=1e-5)
    assert sigmoid(logit(1.0)) == pytest.approx(1.0, abs=1e-5)
    assert sigmoid(-1000.0) == 0.0
    assert sigmoid(1000.0) == 1.0


@given(PROBABILITIES, WEIGHTS, OFFSETS)
def test_a_calibration_can_be_undone(probability: float, weight: float, offset: float) -> None:
    calibration = Calibration(weight=weight, offset=offset)
    calibrated = calibration(probability)
    assume(1e-5 < calibrated < 1 - 1e-5)
    assert calibration.inverse(calibrated) == pytest.approx(probability, abs=1e-6)


def test_a_calibration_scales_and_moves_log_odds() -> None:
    assert Calibration(weight=2.0)(0.8) == pytest.approx(16 / 17)
    assert Calibration(offset=logit(0.9))(0.5) == pytest.approx(0.9)


def test_a_calibration_that_turns_the_network_round_is_refused() -> None:
    with pytest.raises(ValidationError, match="greater than 0"):
        Calibration(weight=-0.5)


@pytest.mark.parametrize(
    ("keep", "ask", "action"),
    [
        (0.2, 0.1, Action.REWRITE),
        (0.7, 0.1, Action.KEEP),
        (0.2, 0.9, Action.ASK),
    ],
)
def test_a_message_is_kept_rewritten_or_asked_about(keep: float, ask: float, action: Action) -> None:
    assert toy_settings().action(chain(keep), ask) is action


def test_a_message_that_cannot_be_edited_is_kept() -> None:
    assert toy_settings().action(EditChain((), 0.0, (), 0.0), 0.99) is Action.KEEP


def test_asking_is_decided_by_the_calibrated_probability() -> None:
    settings = toy_settings(ask=Calibration(offset=-3.0), thresholds=Thresholds(ask=0.6))
    assert settings.action(chain(0.2), 0.9) is Action.REWRITE
    assert settings.action(chain(0.2), 0.99) is Action.ASK


@given(PROBABILITIES, st.floats(0.05, 0.95), WEIGHTS, OFFSETS)
def test_where_the_search_ends_early_no_edit_could_change_the_decision(
    probability: float, threshold: float, weight: float, offset: float
) -> None:
    settings = toy_settings(
        thresholds=Thresholds(keep=threshold), keep=Calibration(weight=weight, offset=offset)
    )  # fmt: skip
    assume(abs(probability - settings.keep_from) > 1e-6)
    is_kept = settings.action(chain(probability), 0.0) is Action.KEEP
    assert is_kept == (probability > settings.keep_from)


def test_settings_come_back_from_json() -> None:
    settings = toy_settings(
        thresholds=Thresholds(names=dict.fromkeys(EntitySubtype, 0.3)), edit=Calibration(weight=1.5)
    )
    assert ReaderSettings.model_validate_json(settings.model_dump_json()) == settings


@pytest.mark.parametrize("field", ["labels", "intents", "predicates", "qualifiers"])
def test_settings_of_other_labels_are_refused(field: str) -> None:
    with pytest.raises(ValidationError, match="other labels"):
        toy_settings(**{field: ("person", "thing")})
