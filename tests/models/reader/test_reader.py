"""From what the network finds in windows to a reading."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from memory.values.errors import ModelUnavailable
from memory.values.understanding.mentions import EntitySubtype, TaggedSpan
from memory.values.understanding.readings import Action, Context, ContextSpan, Intent, ReadRequest, Replacement
from models.body.calibration import Calibration
from models.reader.decisions import Thresholds
from models.reader.edit_search import EditChain, Filling
from models.reader.edits import Edit, Segment
from models.reader.fact_decoding import DecodedFact
from models.reader.features import FeatureReader, Features
from models.reader.inference import Found
from models.reader.reader import BatchedReader, PreparedMessage, TrainedReader, options_of, reading_of, rewrite_of
from tests.models.reader.toys import FOR_MEMORY, read, toy_settings

ROW = read("它多少錢？", "我想買 AI-Box", "", "好的", names=("宏康",))
"""Context units: 宏 康 | 我 想 買 AI - Box | 好 的; units of the message: 它 多 少 錢 ？"""
EDITS = (Edit(0, 1, (Segment(0, 2), Segment(5, 8))), Edit(5, 5, (Segment(8, 10),)))
FILLINGS = Filling((0.9, 0.8), ((Segment(5, 8), 0.1),)), Filling((0.7,))
QUIET = (0.0,) * len(Intent)


def found(
    row: Features = ROW, edits: tuple[Edit, ...] = EDITS, *, keep: float = 0.1, ask: float = 0.0, **values: object
) -> Found:
    fillings = FILLINGS if edits == EDITS else tuple(Filling((0.7,) * len(edit.segments)) for edit in edits)
    chain = EditChain(edits, -0.5, (-0.2, -0.3)[: len(edits)], keep, fillings)
    window = Found(row, (), QUIET, ask, 0.0, 0.0, 0.0, FOR_MEMORY, chain, ())
    return replace(window, **values)  # type: ignore[arg-type]


def probabilities(**values: float) -> tuple[float, ...]:
    return tuple(values.get(intent.value, 0.0) for intent in Intent)


def test_a_rewrite_says_what_it_copied_and_from_where() -> None:
    rewrite = rewrite_of(found(), toy_settings())
    assert rewrite.action is Action.REWRITE
    assert rewrite.text == "宏康AI-Box多少錢？好的"
    first, second = rewrite.replacements
    assert (first.start, first.end, first.written) == (0, 1, "宏康AI-Box")
    assert first.antecedents == (
        ContextSpan(text="宏康", turn=None, start=0, end=2, probability=0.9),
        ContextSpan(text="AI-Box", turn=0, start=4, end=10, probability=0.8),
    )
    assert first.alternatives == (ContextSpan(text="AI-Box", turn=0, start=4, end=10, probability=0.1),)
    assert first.confidence == pytest.approx(math.exp(-0.2))
    assert (second.start, second.end, second.written) == (5, 5, "好的")
    assert [(span.text, span.turn) for span in second.antecedents] == [("好的", 2)]
    assert rewrite.confidence == pytest.approx(0.9 * math.exp(-0.3))


def test_confidences_are_calibrated() -> None:
    settings = toy_settings(keep=Calibration(weight=2.0), edit=Calibration(offset=-1.0))
    rewrite = rewrite_of(found(keep=0.2), settings)
    edits = [settings.edit(math.exp(score)) for score in (-0.2, -0.3)]
    assert [replacement.confidence for replacement in rewrite.replacements] == pytest.approx(edits)
    assert rewrite.confidence == pytest.approx((1 - 1 / 17) * min(edits))


def test_function_words_are_written_and_are_no_antecedents() -> None:
    edit = Edit(0, 1, (Segment(5, 8), Segment(10, 11)))  # the first word, behind ten units
    (replacement,) = rewrite_of(found(edits=(edit,)), toy_settings()).replacements
    assert replacement.written == "AI-Box的"
    assert [span.text for span in replacement.antecedents] == ["AI-Box"]


def test_a_message_that_needs_nothing_is_kept_as_it_is() -> None:
    kept = rewrite_of(found(keep=0.8), toy_settings())
    assert (kept.action, kept.text, kept.replacements) == (Action.KEEP, "它多少錢？", ())
    assert kept.confidence == pytest.approx(0.8)
    settings = toy_settings(thresholds=Thresholds(keep=0.0))
    assert rewrite_of(found(), settings).confidence == pytest.approx(0.1)
    assert rewrite_of(found(edits=(), keep=0.3), toy_settings()).action is Action.KEEP


def test_what_is_behind_the_last_unit_is_kept() -> None:
    row = read(" 它好 嗎 \n", "宏康")
    edit = Edit(0, 1, (Segment(0, 2),))
    assert rewrite_of(found(row, (edit,)), toy_settings()).text == "宏康好 嗎 \n"


def test_an_ambiguous_reference_is_asked_about_with_its_options() -> None:
    rewrite = rewrite_of(found(ask=0.9), toy_settings())
    assert (rewrite.action, rewrite.text) == (Action.ASK, "它多少錢？")
    assert rewrite.confidence == pytest.approx(0.9)
    (asked,) = rewrite.replacements
    assert (asked.start, asked.end) == (0, 1)
    assert [option.text for option in (*asked.antecedents[:1], *asked.alternatives)] == ["宏康", "AI-Box"]


def test_only_what_is_likely_enough_is_an_option_to_ask_about() -> None:
    alternatives = ((Segment(5, 8), 0.1), (Segment(8, 10), 0.01))
    chain = EditChain(EDITS[:1], -0.5, (-0.2,), 0.1, (Filling((0.9, 0.8), alternatives),))
    (asked,) = rewrite_of(found(ask=0.9, chain=chain), toy_settings()).replacements
    assert [option.text for option in asked.alternatives] == ["AI-Box"]
    assert len(rewrite_of(found(chain=chain), toy_settings()).replacements[0].alternatives) == 2


def test_nobody_is_asked_without_two_options() -> None:
    rewrite = rewrite_of(found(ask=0.9), toy_settings(thresholds=Thresholds(option=0.2)))
    assert rewrite.action is Action.REWRITE
    assert len(rewrite.replacements) == 2
    assert rewrite_of(found(edits=(), ask=0.9), toy_settings()).action is Action.KEEP


def test_the_reference_that_has_options_is_asked_about() -> None:
    first, second = EDITS
    swapped = Edit(0, 1, second.segments), Edit(5, 5, first.segments)
    chain = EditChain(swapped, -0.5, (-0.2, -0.3), 0.1, (Filling((0.7,)), FILLINGS[0]))
    (asked,) = rewrite_of(found(ask=0.9, chain=chain), toy_settings()).replacements
    assert (asked.start, asked.end) == (5, 5)


def test_options_are_likely_enough_and_no_part_of_each_other() -> None:
    def option(text: str, probability: float) -> ContextSpan:
        return ContextSpan(text=text, turn=0, start=0, end=1, probability=probability)

    replacement = Replacement(
        start=0,
        end=1,
        written="AI-Box",
        antecedents=(option("AI-Box", 0.5), option("的店", 0.9)),
        confidence=0.5,
        alternatives=(option("Box", 0.3), option("宏康", 0.1), option("宏康 HCI", 0.1), option("小美", 0.01)),
    )
    assert [known.text for known in options_of(replacement, toy_settings())] == ["AI-Box", "宏康"]
    assert [known.text for known in options_of(replacement.model_copy(update={"antecedents": ()}), toy_settings())] == [
        "Box",
        "宏康",
    ]


def test_intents_that_hold_come_most_probable_first() -> None:
    window = found(intents=probabilities(question=0.7, thanks=0.9, greeting=0.4))
    assert reading_of([window], toy_settings()).intents == ((Intent.THANKS, 0.9), (Intent.QUESTION, 0.7))
    strict = toy_settings(thresholds=Thresholds(intents=0.95))
    assert reading_of([window], strict).intents == ((Intent.THANKS, 0.9),)


@pytest.mark.parametrize(
    ("forget", "intents", "surely"),
    [
        (0.4, (Intent.QUESTION,), False),
        (0.6, (Intent.QUESTION, Intent.FORGET), False),
        (0.95, (Intent.FORGET, Intent.QUESTION), True),
    ],
)
def test_a_request_to_forget_is_told_by_a_head_of_its_own(
    forget: float, intents: tuple[Intent, ...], surely: bool
) -> None:
    window = found(intents=probabilities(question=0.8, forget=0.99), forget=forget)
    reading = reading_of([window], toy_settings())
    assert (tuple(dict(reading.intents)), reading.forgets_surely) == (intents, surely)


@pytest.mark.parametrize(
    ("forget", "intents", "holds"),
    [
        (0.8, {"statement": 0.8}, False),
        (0.95, {"statement": 0.8}, True),
        (0.8, {"statement": 0.3, "forget": 0.6}, True),
    ],
)
def test_what_states_something_asks_to_forget_surely_or_not(
    forget: float, intents: dict[str, float], holds: bool
) -> None:
    reading = reading_of([found(intents=probabilities(**intents), forget=forget)], toy_settings())
    assert (Intent.FORGET in dict(reading.intents)) is holds


def test_a_request_to_forget_says_nothing_else_by_itself() -> None:
    reading = reading_of([found(intents=probabilities(forget=0.9, statement=0.1), forget=0.95)], toy_settings())
    assert tuple(dict(reading.intents)) == (Intent.FORGET,)


def test_a_long_text_asks_to_forget_nothing() -> None:
    reading = reading_of([found(forget=0.99), found(forget=0.99)], toy_settings())
    assert Intent.FORGET not in dict(reading.intents)
    assert not reading.forgets_surely


def test_where_no_intent_holds_the_most_probable_one_does() -> None:
    window = found(intents=probabilities(question=0.4, statement=0.12))
    assert reading_of([window], toy_settings()).intents == ((Intent.QUESTION, 0.4),)


def test_an_intent_holds_where_it_does_in_any_window() -> None:
    windows = [found(intents=probabilities(statement=0.6)), found(intents=probabilities(statement=0.2, request=0.8))]
    assert reading_of(windows, toy_settings()).intents == ((Intent.REQUEST, 0.8), (Intent.STATEMENT, 0.6))


def test_white_space_has_no_intent() -> None:
    reading = reading_of([found(read(" "), (), keep=1.0)], toy_settings())
    assert (reading.intents, reading.names, reading.facts) == ((), (), ())
    assert (reading.rewrite.action, reading.rewrite.text) == (Action.KEEP, " ")


def test_names_and_facts_are_those_of_all_windows_and_references_of_the_first(reader: FeatureReader) -> None:
    text = "它在台北。" + "字" * 260 + "小美住板橋"
    first, second = reader.read(ReadRequest(text=text, context=Context(turns=("宏康",))))
    names = [
        TaggedSpan(start=start, end=start + 2, label="place", subtype=EntitySubtype.PLACE, score=0.9)
        for start in (2, len(text) - 2)
    ]
    last = len(second.units) - 1
    windows = [
        found(first, (Edit(0, 1, (Segment(0, 2),)),), names=(names[0],)),
        found(
            second,
            (),
            keep=1.0,
            names=(names[1],),
            facts=(DecodedFact((last - 4, last - 3), "lives_in", (last - 1, last), (), None, 0.8),),
        ),
    ]
    reading = reading_of(windows, toy_settings())
    assert [text[name.start : name.end] for name in reading.names] == ["台北", "板橋"]
    assert reading.rewrite.text == "宏康" + text[1:]
    (fact,) = reading.facts
    assert fact.subject is not None
    assert (fact.subject.text, fact.object.text) == ("小美", "板橋")
    assert text[fact.object.start : fact.object.end] == "板橋"


def test_a_message_costs_the_tokens_of_its_windows(reader: FeatureReader) -> None:
    windows = tuple(reader.read(ReadRequest(text="字" * 600)))
    assert PreparedMessage(windows).token_count == 600 + 3 * 2


async def test_a_reader_without_weights_starts_and_says_so_at_each_call(tmp_path: Path) -> None:
    missing = BatchedReader(TrainedReader(tmp_path / "reader.safetensors", tmp_path))
    assert "reader.safetensors cannot be read" in missing.model.load_error
    for _ in range(2):
        with pytest.raises(ModelUnavailable, match=r"reader\.safetensors") as refused:
            await missing.read([ReadRequest(text="好")])
        assert refused.value.component == "reader"
    figures = missing.model.figures()
    assert (figures["reader_loaded"], figures["reader_failures"]) == (0.0, 2)
    missing.model.check_health()
    await missing.model.close()


async def test_a_reader_with_corrupt_weights_starts_and_says_so(tmp_path: Path) -> None:
    weights = tmp_path / "reader.safetensors"
    weights.write_bytes(b"half a file")
    weights.with_suffix(".json").write_text('{"sha256": "12ab"}')
    corrupt = BatchedReader(TrainedReader(weights, weights.parent))
    with pytest.raises(ModelUnavailable, match=r"reader\.safetensors is corrupt"):
        await corrupt.read([ReadRequest(text="好")])
    assert "corrupt" in corrupt.model.load_error
