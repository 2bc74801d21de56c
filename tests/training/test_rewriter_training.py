import random
from pathlib import Path

import pytest
import torch
from models.rewriter.decisions import KeepRule
from models.rewriter.decoding import DecodingLimits
from models.rewriter.edits import Segment
from models.rewriter.features import MAX_CONTEXT_TOKENS, FeatureReader
from models.rewriter.inference import rewrite_all
from models.rewriter.network import RewriterNetwork
from training.rewriter.data import RewritingRow, as_foreign
from training.rewriter.examples import STOP, Example, chain_loss, collate_examples, frequent_words, make_example
from training.rewriter.keeping import choose_rule
from training.rewriter.labels import Limits
from training.rewriter.mix import (
    RewritingMix,
    RewritingOptions,
    RewritingShare,
    as_lost,
    as_renamed,
    copied_span,
    offered_names,
)
from training.rewriter.train import rewriting_task

from models.body.edit_units import EditUnitTokenizer
from training.shared.body import PooledDropout
from training.shared.learning_curve import Curve
from training.shared.loop import start, train_all, training_parser
from training.shared.run import RunOptions, Task, TrainingRun

LIMITS = Limits(span=6, deleted=2)
ROWS = [
    RewritingRow(("西安天气", "多云"), "明天有雨吗", "西安明天有雨吗", "toy"),
    RewritingRow(("我在北京", "哦"), "它好吗", "北京好吗", "toy"),
    RewritingRow(("你好",), "今天几号", "今天几号", "toy"),
    RewritingRow(("小明哭了", "嗯"), "眼睛红了", "小明的眼睛红了", "toy"),
    RewritingRow(("see Bedouin", "ok"), "its address", "address of Bedouin", "toy"),
    RewritingRow((), "在吗", "在吗", "toy"),
]


def mix_of(reader: FeatureReader, rows: list[RewritingRow] = ROWS, **options: float) -> RewritingMix:
    return RewritingMix([RewritingShare(rows, 1.0, True)], reader, LIMITS, RewritingOptions(**options), seed=1)  # type: ignore[arg-type]


def task_of(network: RewriterNetwork, mix: RewritingMix) -> Task[RewriterNetwork, Example]:
    return rewriting_task(mix, network.shape, 1)


def test_a_row_becomes_a_chain_that_ends(reader: FeatureReader) -> None:
    example = make_example(ROWS[0], reader, LIMITS)
    assert [choice.answer for choice in example.places] == [(0, 0), STOP]
    assert [choice.answers for choice in example.segments] == [(Segment(0, 2),), ()]
    complete = make_example(ROWS[2], reader, LIMITS)
    assert [choice.answer for choice in complete.places] == [STOP]
    assert complete.segments == ()


def test_a_target_out_of_reach_teaches_where_and_not_what(reader: FeatureReader) -> None:
    example = make_example(RewritingRow(("好",), "几号", "龙几号", "toy"), reader, LIMITS)
    assert not example.is_exact
    assert [choice.answer for choice in example.places] == [(0, 0), STOP]
    assert example.segments == ()


def test_every_right_answer_can_be_chosen(toy_network: RewriterNetwork, reader: FeatureReader) -> None:
    examples = [make_example(row, reader, LIMITS) for row in ROWS]
    batch = collate_examples(examples, pad_id=1, shape=toy_network.shape)
    losses = chain_loss(toy_network.eval(), batch)
    assert 0 < losses["place"].item() < 1000
    assert 0 < losses["segment"].item() < 1000


def test_padding_changes_nothing(toy_network: RewriterNetwork, reader: FeatureReader) -> None:
    toy_network.eval()
    examples = [make_example(row, reader, LIMITS) for row in ROWS]
    together = chain_loss(toy_network, collate_examples(examples, pad_id=1, shape=toy_network.shape))
    alone = [
        chain_loss(toy_network, collate_examples([example], pad_id=1, shape=toy_network.shape)) for example in examples
    ]
    for name, value in together.items():
        torch.testing.assert_close(value, torch.stack([losses[name] for losses in alone]).sum())


def test_probabilities_of_a_choice_sum_to_one(toy_network: RewriterNetwork, reader: FeatureReader) -> None:
    batch = collate_examples([make_example(row, reader, LIMITS) for row in ROWS], pad_id=1, shape=toy_network.shape)
    encoded = toy_network.eval().encode(batch)
    places = batch["places"]
    scores = toy_network.place_scores(encoded, places[:, 0], places[:, 1], places[:, 2:6])
    torch.testing.assert_close(scores.exp().sum(1), torch.ones(len(places)))


def test_a_network_learns_a_few_rows_and_decodes_them(
    toy_network: RewriterNetwork, reader: FeatureReader, tokenizer: EditUnitTokenizer, tmp_path: Path
) -> None:
    options = RunOptions(epochs=4, body_rate=3e-3, head_rate=3e-3, warmup=5, cooldown=0.2, decay=0.9, workers=2)
    mix = mix_of(
        reader, ROWS * 32, traditional=0.0, complete=0.0, foreign=0.0, lost=0.0, renamed=0.0, offered=0.0, batch_rows=3
    )
    run = TrainingRun(toy_network, task_of(toy_network, mix), options=options, folder=tmp_path, seed=1)
    losses = []
    while run.progress < 1:
        losses += [step["place"] + step["segment"] for step in run.train_epoch()]
    assert losses[-1] < losses[0] / 10
    with run.averaged():
        features = [reader.read(row.turns, row.query) for row in ROWS]
        full = rewrite_all(toy_network, features, pad_id=1)
        quick = rewrite_all(toy_network, features, pad_id=1, limits=DecodingLimits(keep_from=KeepRule().keep_from))
    assert [rewritten.text(KeepRule()) for rewritten in full] == [row.target for row in ROWS]
    assert [rewritten.text(KeepRule()) for rewritten in quick] == [row.target for row in ROWS]
    assert [bool(rewritten.rewrite.edits) for rewritten in quick] == [row.query != row.target for row in ROWS]
    assert choose_rule(ROWS, full).keeps(full[2].rewrite)


def test_a_run_goes_on_where_its_checkpoint_was_written(
    toy_network: RewriterNetwork, reader: FeatureReader, tmp_path: Path
) -> None:
    mix = mix_of(reader, batch_rows=1)
    run = TrainingRun(toy_network, task_of(toy_network, mix), options=RunOptions(workers=1), folder=tmp_path, seed=1)
    steps = run.train_epoch()
    for _ in range(3):
        next(steps)
    run.save()
    masters = [master.clone() for master in run.weights.masters]
    run.weights.load([torch.zeros_like(master) for master in masters])
    again = TrainingRun(toy_network, task_of(toy_network, mix), options=RunOptions(workers=1), folder=tmp_path, seed=2)
    again.resume(tmp_path / "checkpoint.pt")
    assert again.step == 3
    assert 0 < again.progress < 1
    for actual, expected in zip(again.weights.masters, masters, strict=True):
        torch.testing.assert_close(actual, expected)
    assert len(list(again.train_epoch())) == len(list(mix.batches(0))) - 3


def test_a_training_writes_its_checkpoints_and_its_log(
    toy_network: RewriterNetwork, reader: FeatureReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["train", "DATA", "--out", str(tmp_path / "run"), "--cache", "MODELS", "--epochs", "1", "--workers", "1"]
    monkeypatch.setattr("sys.argv", command)
    arguments = start(training_parser("Trains.", "rows", RewritingOptions))
    task = task_of(toy_network, mix_of(reader, ROWS * 16, batch_rows=3))
    train_all(
        toy_network, task, lambda: {"toy": {"EM": 1.0}}, Curve(("place", "segment"), "EM", "EM"), arguments=arguments
    )
    assert {path.name for path in (tmp_path / "run").iterdir()} >= {"checkpoint.pt", "best.pt", "log.jsonl"}


def test_an_epoch_is_drawn_alike_each_time_and_differs_from_the_next(reader: FeatureReader) -> None:
    mix = mix_of(reader, traditional=0.5, complete=0.5)
    assert mix.drawn(0) == mix_of(reader, traditional=0.5, complete=0.5).drawn(0)
    assert mix.drawn(0) != mix.drawn(1)
    assert sum(map(len, mix.batches(0))) == len(mix.drawn(0))


def test_a_long_context_keeps_its_first_turn_and_the_latest(reader: FeatureReader) -> None:
    features = reader.read(["主题", *("很长" * 30 for _ in range(9)), "最后"], "它呢")
    assert features.source.turns[0] == "主题"
    assert features.source.turns[-1] == "最后"
    assert features.query_start <= MAX_CONTEXT_TOKENS + 1
    assert len(features.context_tokens) == len(features.source.units)


@pytest.mark.parametrize("query", ["", " ", "长" * 300])
def test_any_query_is_rewritten(query: str, toy_network: RewriterNetwork, tokenizer: EditUnitTokenizer) -> None:
    reader = FeatureReader(tokenizer, ["的", "of"])
    (rewritten,) = rewrite_all(toy_network, [reader.read(["你好"], query[:200])], pad_id=1)
    assert rewritten.text(KeepRule(threshold=0.0)) == query[:200]
    assert isinstance(rewritten.edited(), str)


def test_function_words_are_what_several_conversations_need(reader: FeatureReader) -> None:
    rows = [RewritingRow((f"甲{n}",), "红了", f"甲{n}的红了", "toy") for n in range(3)]
    rows += [RewritingRow(("乙",), f"{n}", f"姓{n}", "toy") for n in range(9)]
    assert frequent_words(rows, least=2, most=9) == ["的"]


def test_negatives_are_complete_foreign_or_cannot_be_restored(reader: FeatureReader) -> None:
    mix = mix_of(reader, traditional=0.0, complete=0.0, offered=0.0, renamed=0.0, foreign=1.0, lost=1.0)
    examples = [example for batch in mix.batches(0) for example in batch]
    incomplete = [row for row in ROWS if row.query != row.target]
    assert len(examples) == 2 * len(ROWS) + len(incomplete)
    assert sum(example.places[0].answer == STOP for example in examples) >= len(ROWS) + len(incomplete)
    assert as_foreign(ROWS[0], ROWS[1]) == RewritingRow(ROWS[0].turns, "北京好吗", "北京好吗", "toy", "complete")
    assert as_lost(ROWS[0]) == RewritingRow(("多云",), "明天有雨吗", "明天有雨吗", "toy", "complete")
    assert as_lost(ROWS[2]) == ROWS[2]


def test_a_copied_name_is_renamed_in_the_conversation_and_the_rewrite(reader: FeatureReader) -> None:
    renamed = as_renamed(ROWS[0], "AI-Box")
    assert renamed == RewritingRow(("AI-Box天气", "多云"), "明天有雨吗", "AI-Box明天有雨吗", "toy")
    assert make_example(renamed, reader, LIMITS).is_exact
    assert as_renamed(ROWS[2], "AI-Box") == ROWS[2]
    mix = mix_of(reader, renamed=1.0)
    assert {example.renamed for example in mix.drawn(0)} - {None} <= {"西安", "北京", "小明", "Bedouin"}


def test_names_from_memory_come_before_the_first_turn_and_may_hold_the_antecedent() -> None:
    assert copied_span(ROWS[0]) == "西安"
    assert copied_span(ROWS[2]) is None
    forms = {offered_names(ROWS[0], ["北京", "小明"], random.Random(seed)).turns for seed in range(40)}
    assert ("北京、西安、小明", "多云") in forms  # what holds the antecedent is gone
    assert ("北京", "西安天气", "多云") in forms
    assert all("西安" in "".join(turns) for turns in forms)
    assert offered_names(ROWS[2], [], random.Random(1)) == ROWS[2]


def test_pooled_dropout_drops_its_share_and_keeps_the_mean() -> None:
    dropout = PooledDropout(0.25)
    states = torch.ones(200, 500)
    dropped = dropout(states)
    assert (dropped == 0).float().mean().item() == pytest.approx(0.25, abs=0.01)
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.02)
    assert not torch.equal(dropped, dropout(states))
    assert torch.equal(dropout.eval()(states), states)
