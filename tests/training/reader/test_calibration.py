"""Thresholds and calibration, chosen on tuning rows that a test makes up."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from memory.values.understanding.mentions import EntitySubtype, TaggedSpan
from memory.values.understanding.readings import Action, Intent
from models.body.calibration import sigmoid
from models.reader.decisions import ReaderSettings
from models.reader.edit_search import EditChain, Filling
from models.reader.edits import Edit, Segment
from models.reader.fact_decoding import DecodedFact
from models.reader.inference import Found
from models.reader.reader import rewrite_of
from tests.models.reader.toys import FOR_MEMORY, read, toy_settings
from training.names.ner_files import NamedSpan
from training.reader.calibration import SURE, TunedMessage, TunedQuery, tuned_settings
from training.reader.corpus import MarkedFact, MarkedMessage, MarkedQuery, MarkedReference
from training.reader.metrics import is_right
from training.shared.calibration import fit

ROW = read("它好嗎", "茶和酒")
QUIET = (0.0,) * len(Intent)
TARGETS = {
    Action.REWRITE: "茶好嗎",
    Action.KEEP: "它好嗎",
    Action.ASK: "它好嗎",
}


def query(action: Action, *, keep: float, ask: float = 0.0, edit: float = 0.9, is_wrong: bool = False) -> TunedQuery:
    """A query with what the network found: that 它 is 茶, or with `is_wrong` that it is 酒."""
    options = ("茶", "酒") if action is Action.ASK else ()
    antecedents = ("茶",) if action is Action.REWRITE else ()
    marked = MarkedQuery(
        "zh-1",
        "zh-Hant",
        "thing",
        ("茶和酒",),
        "它好嗎",
        TARGETS[action],
        action,
        (MarkedReference(0, 1, antecedents, options),),
    )
    first, other = Segment(0, 1), Segment(2, 3)
    if is_wrong:
        first, other = other, first
    filling = Filling((0.6,), ((other, 0.3),))
    chain = EditChain((Edit(0, 1, (first,)),), math.log(edit), (math.log(edit),), keep, (filling,))
    return TunedQuery(marked, Found(ROW, (), QUIET, ask, 0.0, 0.0, 0.0, FOR_MEMORY, chain, ()))


def message(
    *,
    names: Sequence[tuple[int, int, float]] = (),
    marked: Sequence[tuple[int, int]] = (),
    intents: Sequence[float] = (0.9,),
    meant: Sequence[Intent] = (Intent.STATEMENT,),
    facts: Sequence[float] = (),
    stated: int = 0,
) -> TunedMessage:
    """A message whose names are places, and whose facts are that the speaker likes what one unit says."""
    text = "甲乙丙丁"
    found = Found(
        features=read(text),
        names=tuple(
            TaggedSpan(start=start, end=end, label="place", subtype=EntitySubtype.PLACE, score=score)
            for start, end, score in names
        ),
        intents=(*intents, *QUIET[len(intents) :]),
        ask=0.0,
        overview=0.0,
        forget=0.0,
        changes=0.0,
        kinds=FOR_MEMORY,
        chain=EditChain((), 0.0, (), 1.0),
        facts=tuple(
            DecodedFact(None, "likes", (number, number), (), None, probability)
            for number, probability in enumerate(facts)
        ),
    )
    row = MarkedMessage(
        "zh-1",
        "zh-Hant",
        (),
        text,
        tuple(NamedSpan(start, end, "place") for start, end in marked),
        tuple(meant),
        tuple(MarkedFact("", "likes", unit) for unit in text[:stated]),
    )
    return TunedMessage(row, [found])


def shares(settings: ReaderSettings, rows: Sequence[TunedQuery]) -> float:
    return float(np.mean([is_right(row.query, rewrite_of(row.found, settings)) for row in rows]))


@pytest.mark.parametrize(("slope", "offset"), [(1.0, 0.0), (0.5, 1.0), (2.0, -1.0)])
def test_the_probabilities_that_came_true_are_found(slope: float, offset: float) -> None:
    """Forty rows stand for each log-odds, of which as many came true as a known logistic function says."""
    rows = [
        (sigmoid(value), number < round(40 * sigmoid(slope * value + offset)))
        for value in np.linspace(-3, 3, 13)
        for number in range(40)
    ]
    calibration = fit([probability for probability, _ in rows], [is_true for _, is_true in rows])
    assert (calibration.weight, calibration.offset) == pytest.approx((slope, offset), abs=0.1)


def test_rows_that_are_all_alike_calibrate_nothing() -> None:
    assert fit([0.2, 0.9], [True, True]) == fit([], []) == toy_settings().keep


def test_a_network_that_is_always_wrong_is_not_turned_round() -> None:
    assert fit([0.9, 0.8, 0.1, 0.2] * 5, [False, False, True, True] * 5).weight > 0


def test_what_to_keep_to_rewrite_and_to_ask_is_told_apart() -> None:
    """A network whose probabilities are all low, but in the right order."""
    rows = [
        *(query(Action.REWRITE, keep=0.05 + 0.001 * number) for number in range(8)),
        *(query(Action.KEEP, keep=0.3 + 0.001 * number) for number in range(8)),
        *(query(Action.ASK, keep=0.05, ask=0.2 + 0.001 * number) for number in range(4)),
    ]
    untuned = toy_settings()
    tuned = tuned_settings(untuned, rows, [message()])
    assert shares(untuned, rows) == pytest.approx(0.4)
    assert shares(tuned, rows) == 1.0


def test_surely_written_rewrites_are_mostly_right() -> None:
    rows = [query(Action.REWRITE, keep=0.01, edit=0.97, is_wrong=number % 3 == 0) for number in range(60)]
    rows += [query(Action.KEEP, keep=0.99) for _ in range(30)]
    untuned, tuned = toy_settings(), tuned_settings(toy_settings(), rows, [message()])

    def wrong_and_sure(settings: ReaderSettings) -> int:
        rewrites = [(row.query, rewrite_of(row.found, settings)) for row in rows]
        return sum(
            rewrite.action is Action.REWRITE and rewrite.confidence >= SURE and not is_right(marked, rewrite)
            for marked, rewrite in rewrites
        )

    assert wrong_and_sure(untuned) == 20
    assert wrong_and_sure(tuned) == 0


def test_thresholds_of_names_facts_and_intents_are_the_best_of_the_messages() -> None:
    rows = [
        message(names=[(0, 1, 0.9), (2, 3, 0.55)], marked=[(0, 1)], facts=(0.5, 0.35), stated=1, intents=(0.9, 0.4)),
        message(names=[(0, 1, 0.8), (2, 3, 0.62)], marked=[(0, 1)], facts=(0.6, 0.3), stated=1, intents=(0.8, 0.45)),
    ]
    tuned = tuned_settings(toy_settings(), [query(Action.KEEP, keep=0.9)], rows).thresholds
    assert 0.62 <= tuned.names[EntitySubtype.PLACE] < 0.8
    assert tuned.names[EntitySubtype.WORK] == 0.5  # nothing tells: the one nearest to a half
    assert 0.35 < tuned.facts <= 0.5
    assert 0.45 < tuned.intents <= 0.8
