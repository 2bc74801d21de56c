"""Training on a toy body: a few questions are learned, each with other lines around."""

import dataclasses
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from memory.ports.models.answer_reading import AnswerReading, AnswerReadRequest, DatedLine, LineReading
from memory.values.understanding.dialogue import Role
from models.answers.inference import MAX_SPAN, find_answers
from models.answers.reader import reading_of
from models.answers.settings import AnswerSettings
from models.assets.catalog import DEFAULT_MODEL
from models.body.calibration import Calibration
from models.body.edit_units import split_edit_units
from tests.models.answers.toys import SHAPE, toy_feature_reader, toy_network
from tests.models.reader.toys import PAD
from training.answers import document_recipe, recipe
from training.answers.calibration import tuned_settings
from training.answers.examples import LabelledRequest, answer_example, unit_span
from training.answers.losses import answer_loss, collate_examples
from training.answers.metrics import has_right_words, is_right, scores
from training.answers.mix import AnswerMix, AnswerOptions, Draw
from training.answers.rows import merge_lines, rows_of
from training.corpora.questions import NONE, MarkedLines, MarkedQuestion
from training.shared import recipes
from training.shared.loop import chosen_options, training_parser
from training.shared.run import RunOptions, Task, TrainingRun

START = datetime(2026, 1, 1, tzinfo=UTC)
SETTINGS = AnswerSettings(shape=SHAPE, body=DEFAULT_MODEL)


def lines(*texts: str) -> tuple[DatedLine, ...]:
    return tuple(DatedLine(text=text, said_at=START + timedelta(days=9 * at)) for at, text in enumerate(texts))


BLOCKS = [
    MarkedLines(
        "zh-Hans",
        lines("我住板桥", "今天下雨", "搬到三峡了", "姐姐爱茶"),
        (
            MarkedQuestion("1", "现在住哪", "update", (2,), {2: (2, 4)}, (0,)),
            MarkedQuestion("2", "以前住哪", "past", (0,), {0: (2, 4)}, (0,)),
            MarkedQuestion("3", "哥哥爱啥", NONE),
        ),
    ),
    MarkedLines(
        "zh-Hans",
        lines("密码是九", "买了红车", "买了蓝车"),
        (
            MarkedQuestion("4", "啥时买车", "several", (1, 2), {1: (0, 0), 2: (0, 0)}),
            MarkedQuestion("5", "哪个学校", NONE),
        ),
    ),
]
OPTIONS = AnswerOptions(answers=40.0, dropped=0.0, fewer=0.0, borrowed=0.0, batch_tokens=600)


def mix_of(**options: float) -> AnswerMix:
    return AnswerMix(BLOCKS, toy_feature_reader(), AnswerOptions(**{"answers": 20.0, **options}), seed=1)  # type: ignore[arg-type]


def drawn_from(mix: AnswerMix) -> list[Draw]:
    return [draw for draw in mix.drawn(0) if isinstance(draw, Draw)]


def test_a_network_learns_a_few_questions_and_reads_them(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    network, reader = toy_network(), toy_feature_reader()
    mix = AnswerMix(BLOCKS, reader, OPTIONS, seed=1)
    task = Task(
        mix=mix, collate=lambda rows: collate_examples(rows, pad_id=PAD), loss=answer_loss, shape=SHAPE.model_dump()
    )
    options = RunOptions(epochs=6, body_rate=3e-3, head_rate=3e-3, warmup=5, cooldown=0.5, decay=0.9, workers=1)
    run = TrainingRun(network, task, options=options, folder=tmp_path, seed=1)
    while run.progress < 1:
        for _ in run.train_epoch():
            pass
    rows = rows_of(BLOCKS)
    with run.averaged():
        found = find_answers(network, [reader.read(row.request) for row in rows], pad_id=PAD)
    readings = [reading_of(answer, SETTINGS) for answer in found]
    assert scores(rows, readings) == dict.fromkeys(
        ("answerable right", "unanswerable right", "all right", "line right", "words right", "outdated right"), 100.0
    )


def test_a_drawn_row_shows_all_that_answers_or_nothing_of_it() -> None:
    mix = mix_of(dropped=0.3)
    draws = drawn_from(mix)
    rows = [mix.varied(draw) for draw in draws]
    for draw, row in zip(draws, rows, strict=True):
        shown = [line.text for line in row.request.lines]
        answers = {draw.block.lines[number].text for number in draw.question.gold}
        if row.gold:
            assert {shown[number] for number in row.gold} == answers
        else:
            assert answers.isdisjoint(shown)
        outdated = {draw.block.lines[number].text for number in draw.question.outdated}
        assert {shown[number] for number in row.outdated} == (outdated if row.gold else set())
    dropped = [bool(draw.question.gold) and not row.gold for draw, row in zip(draws, rows, strict=True)]
    assert 0.05 < sum(dropped) / len(dropped) < 0.35


def test_a_draw_moves_all_dates_by_the_same_years_and_gives_the_same_row_again() -> None:
    mix = mix_of(borrowed=0.0)
    moved = set()
    for draw in drawn_from(mix):
        row = mix.varied(draw)
        assert row == mix.varied(draw)
        said = {line.text: line.said_at for line in draw.block.lines}
        years = {line.said_at.year - said[line.text].year for line in row.request.lines}
        assert len(years) == 1
        moved |= years
        assert row.request.now >= max(line.said_at for line in row.request.lines)
    assert len(moved) > 3


def test_borrowed_lines_share_no_word_with_the_question() -> None:
    mix = mix_of(borrowed=1.0, fewer=0.0)
    borrowed = 0
    for draw in drawn_from(mix):
        own = {line.text for line in draw.block.lines}
        others = [line.text for line in mix.varied(draw).request.lines if line.text not in own]
        borrowed += len(others)
        assert not any("买车" in text for text in others if "买车" in draw.question.question)
    assert borrowed


@given(seed=st.integers(0, 1 << 16))
def test_lines_told_in_one_message_keep_their_words_and_the_date_of_the_marked_one(seed: int) -> None:
    row = rows_of(BLOCKS)[seed % 5]
    merged = merge_lines(row, random.Random(seed))
    before, after = row.request.lines, merged.request.lines
    assert len(merged.gold) == len(row.gold)
    assert len({*merged.gold, *merged.outdated}) == len({*row.gold, *row.outdated})
    for old, new in zip((*row.gold, *row.outdated), (*merged.gold, *merged.outdated), strict=True):
        assert before[old].text in after[new].text
        assert after[new].said_at == before[old].said_at
    said = [(before[old].text[slice(*words)], words[0] == words[1]) for old, words in row.words.items()]
    assert [(after[new].text[slice(*words)], words[0] == words[1]) for new, words in merged.words.items()] == said
    assert all(any(line.text.strip("。") in other.text for other in after) for line in before)


def test_lines_are_told_together_but_not_those_that_count_from_their_day_nor_what_others_said() -> None:
    request = AnswerReadRequest(question="q", lines=lines("密码是九", "买了红车", "昨天下雨", "买了蓝车"), now=START)
    row = LabelledRequest(request, NONE, (), {}, ())
    merged = [merge_lines(row, random.Random(seed)).request.lines for seed in range(30)]
    assert {len(found) for found in merged} == {3, 4}
    assert all(any(line.text == "昨天下雨" for line in found) for found in merged)
    of_others = tuple(line.model_copy(update={"role": Role.ASSISTANT}) for line in request.lines[:2])
    row = LabelledRequest(request.model_copy(update={"lines": of_others}), NONE, (), {}, ())
    assert all(merge_lines(row, random.Random(seed)).request.lines == of_others for seed in range(30))


def test_what_answers_is_shown_alone_where_it_replaced_nothing() -> None:
    mix = AnswerMix(BLOCKS, toy_feature_reader(), dataclasses.replace(OPTIONS, alone=1.0), seed=3)
    shown = {
        question.id: len(mix.varied(Draw(block, question, 5)).request.lines)
        for block in BLOCKS
        for question in block.questions
    }
    assert shown == {"1": 4, "2": 4, "3": 4, "4": 2, "5": 3}


def test_words_become_units_and_those_cut_off_are_not_labelled() -> None:
    units = split_edit_units("搬到三峡了 yesterday")
    assert unit_span(units, (2, 4)) == (3, 4)
    assert unit_span(units, (6, 15)) == (6, 6)
    assert unit_span(units, (0, 0)) == (0, 0)
    assert unit_span(units[:3], (2, 4)) is None
    assert unit_span(split_edit_units("三" * 99), (0, MAX_SPAN + 1)) is None


def test_what_is_out_of_date_is_labelled_where_it_is_known() -> None:
    update, past, none = (answer_example(row, toy_feature_reader()) for row in rows_of(BLOCKS[:1]))
    assert update.outdated == {0: True, 1: False, 2: False, 3: False}
    assert past.outdated == {0: True}
    assert none.outdated == dict.fromkeys(range(4), False)


def reading(unanswered: float, *answers: float, words: tuple[int, int] = (0, 0)) -> AnswerReading:
    found = tuple(LineReading(answers=value, outdated=0.0, start=words[0], end=words[1]) for value in answers)
    return AnswerReading(lines=found, unanswered=unanswered)


def test_a_question_is_right_where_the_likeliest_line_answers_or_rightly_none() -> None:
    moved, _, none = rows_of(BLOCKS[:1])
    assert is_right(moved, reading(0.1, 0.2, 0.1, 0.9, 0.3))
    assert not is_right(moved, reading(0.1, 0.9, 0.1, 0.2, 0.3))
    assert not is_right(moved, reading(0.6, 0.2, 0.1, 0.9, 0.3))
    assert is_right(none, reading(0.6, 0.2, 0.1, 0.9, 0.3))
    assert not is_right(none, reading(0.4, 0.2, 0.1, 0.9, 0.3))


@pytest.mark.parametrize(("words", "expected"), [((2, 4), True), ((2, 5), True), ((0, 1), False), ((0, 0), False)])
def test_words_are_right_where_most_of_them_are(words: tuple[int, int], expected: bool) -> None:
    moved = rows_of(BLOCKS[:1])[0]
    assert has_right_words(moved, reading(0.1, 0.2, 0.1, 0.9, 0.3, words=words)) is expected


def test_calibration_moves_a_network_that_says_none_too_often() -> None:
    moved, _, none = rows_of(BLOCKS[:1])
    rows: list[LabelledRequest] = [moved, none] * 20
    readings = [reading(0.7, 0.2, 0.1, 0.6, 0.3), reading(0.95, 0.1, 0.1, 0.2, 0.1)] * 20
    settings = tuned_settings(SETTINGS, rows, readings)
    assert settings.unanswered(0.7) < 0.5 < settings.unanswered(0.95)
    assert settings.answers(0.6) > settings.answers(0.2)
    assert settings.outdated == Calibration(weight=settings.outdated.weight, offset=settings.outdated.offset)


def test_each_stage_starts_from_the_one_before_or_from_a_mean_and_the_mean_of_all_is_exported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[tuple[str, list[str]]] = []
    averaged: dict[str, list[tuple[str, float]]] = {}

    def average(parts: Sequence[tuple[Path, float]], out: Path) -> Path:
        averaged[out.stem] = [(str(path), share) for path, share in parts]
        return out

    monkeypatch.setattr(recipes, "average_checkpoints", average)
    for module in (recipes, recipe):
        monkeypatch.setattr(module, "run_module", lambda name, *given: ran.append((name, [str(one) for one in given])))
    arguments = ["CORPUS", "--corpus", "MORE", "--out", "OUT", "--cache", "MODELS", "--weights", "W.safetensors"]
    monkeypatch.setattr("sys.argv", ["recipe", *arguments])
    recipe.main()
    *stages, (exporting, export), of_meant, of_replaced, of_clauses = ran
    assert [name for name, _ in stages] == ["answers.train"] * len(recipe.STAGES)
    assert all(given[:3] == ["CORPUS", "--corpus", "MORE"] and "--resume" in given for _, given in stages)
    files = {stage.name: f"OUT/{stage.name}/checkpoint.pt" for stage in recipe.STAGES} | {
        "before": "OUT/requests/before.pt",
        "evened": "OUT/scenarios/evened.pt",
        "with_near": "OUT/near/with_near.pt",
        "with_nearer": "OUT/nearer/with_nearer.pt",
        "shipped": "OUT/twins/shipped.pt",
    }
    starts = [given[given.index("--start") + 1] for _, given in stages[1:]]
    assert starts == [
        files[stage.start or before.name] for before, stage in zip(recipe.STAGES[:-1], recipe.STAGES[1:], strict=True)
    ]
    assert "--start" not in stages[0][1]
    assert averaged == {name: [(files[part], share) for part, share in parts] for name, parts in recipe.MEANS.items()}
    assert (exporting, export[export.index("--checkpoint") + 1]) == ("answers.export", files["shipped"])
    given = ["--corpus", "CORPUS", "MORE", "--weights", "W.safetensors", "--cache", "MODELS"]
    assert of_meant == ("answers.line_heads", ["meant", *given])
    assert of_replaced == ("answers.line_heads", ["replaced", *given])
    assert of_clauses == ("answers.line_heads", ["clause", *given])


@pytest.mark.parametrize("stage", [*recipe.STAGES, *document_recipe.STAGES], ids=lambda stage: stage.name)
def test_the_options_of_a_stage_are_those_of_the_training(stage: recipes.Stage) -> None:
    parser = training_parser("Trains.", "rows", AnswerOptions)
    given = parser.parse_args(["CORPUS", "--out", "OUT", "--cache", "MODELS", *stage.options])
    assert chosen_options(AnswerOptions, given) != AnswerOptions()


def test_the_reader_of_documents_starts_from_that_of_conversations_and_is_calibrated_on_documents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[tuple[str, list[str]]] = []
    averaged: list[Path] = []

    def average(_: Sequence[tuple[Path, float]], out: Path) -> Path:
        averaged.append(out)
        return out

    for module in (recipes, document_recipe):
        monkeypatch.setattr(module, "run_module", lambda name, *given: ran.append((name, [str(one) for one in given])))
    monkeypatch.setattr(recipes, "average_checkpoints", average)
    arguments = ["CORPUS", "--documents", "DATA", "--answers", "A.safetensors", "--out", "OUT", "--cache", "MODELS"]
    monkeypatch.setattr("sys.argv", ["recipe", *arguments, "--weights", "W.safetensors"])
    document_recipe.main()
    *stages, (name, export) = ran
    first, *later = (given for _, given in stages)
    assert first[first.index("--weights") + 1] == "A.safetensors"
    assert later[0][later[0].index("--start") + 1] == "OUT/near/checkpoint.pt"
    assert later[-1][later[-1].index("--start") + 1] == str(*averaged) == "OUT/more/evened.pt"
    assert all(given[given.index("--documents") + 1] == "DATA" for given in (first, *later))
    assert (name, export[export.index("--checkpoint") + 1]) == ("answers.export", "OUT/last/checkpoint.pt")
    assert export[-1] == "--documents"
