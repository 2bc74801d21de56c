"""Training on a toy body: a few rows are learned, and a run goes on where it stopped."""

from pathlib import Path
from typing import Any

import pytest
import torch

from memory.values.understanding.mentions import EntitySubtype
from memory.values.understanding.readings import Action, Context, Intent, Reading, ReadRequest
from models.reader.decisions import Thresholds
from models.reader.features import FeatureReader
from models.reader.inference import find_all
from models.reader.network import ReaderNetwork
from models.reader.reader import reading_of
from tests.models.reader.toys import PAD, SHAPE, toy_settings
from training.names.ner_files import NamedSpan
from training.reader.corpus import MarkedFact, MarkedMessage, MarkedQuery, MarkedReference
from training.reader.corpus_mix import AmbiguousMix, JointMix, MessageMix
from training.reader.examples import ReaderExample, request_of
from training.reader.rewriting_mix import RewritingMix, RewritingOptions, RewritingShare
from training.reader.train import ReaderOptions, reader_task, recalled_rows, rewriting_row
from training.rewriting.data import RewritingRow
from training.rewriting.labels import Limits
from training.shared.learning_curve import Curve
from training.shared.loop import start, train_all, training_parser
from training.shared.mix import Mix
from training.shared.run import RunOptions, Task, TrainingRun

QUERIES = [
    MarkedQuery("1", "zh-Hans", "thing", ("我在北京", "哦"), "它好吗", "北京好吗", Action.REWRITE, ()),
    MarkedQuery("2", "zh-Hans", "ellipsis", ("西安天气", "多云"), "明天有雨吗", "西安明天有雨吗", Action.REWRITE, ()),
    MarkedQuery("3", "zh-Hans", "thing", ("你好",), "今天几号", "今天几号", Action.KEEP, ()),
    MarkedQuery("4", "en", "thing", ("see Bedouin", "ok"), "its address", "address of Bedouin", Action.REWRITE, ()),
]
AMBIGUOUS = MarkedQuery(
    "5", "zh-Hans", "thing", ("茶和酒",), "那个呢", "那个呢", Action.ASK, (MarkedReference(0, 2, (), ("茶", "酒")),)
)
MESSAGES = [
    MarkedMessage(
        "6", "zh-Hans", (), "我住板桥", (NamedSpan(2, 4, "place"),), (Intent.STATEMENT,),
        (MarkedFact("", "lives_in", "板桥"),),
    ),
    MarkedMessage(
        "7", "zh-Hans", ("小美呢",), "她爱茶", (), (Intent.STATEMENT,), (MarkedFact("小美", "likes", "茶"),),
    ),
    MarkedMessage("8", "zh-Hans", (), "谢谢你", (), (Intent.THANKS,), ()),
]  # fmt: skip
PLAIN = RewritingOptions(complete=0.0, foreign=0.0, lost=0.0, renamed=0.0, offered=0.0)


def mix_of(reader: FeatureReader, weight: float = 1.0, *, batch_rows: int = 4) -> JointMix:
    rows = [rewriting_row(query) for query in QUERIES]
    limits = Limits(span=SHAPE.edits.span, deleted=SHAPE.edits.deleted)
    mixes: list[Mix[Any, ReaderExample]] = [
        RewritingMix([RewritingShare(rows, weight, True, is_corpus=True)], reader, limits, PLAIN, seed=1),
        AmbiguousMix([AMBIGUOUS], 3 * weight, reader, seed=1),
        MessageMix(MESSAGES, [weight] * len(MESSAGES), 0.0, 0.0, reader, SHAPE, seed=1),
    ]
    return JointMix(mixes, seed=1, batch_tokens=400, batch_rows=batch_rows)


def task_of(network: ReaderNetwork, mix: JointMix) -> Task[ReaderNetwork, ReaderExample]:
    return reader_task(mix, network.shape, PAD)


def test_a_network_learns_a_few_rows_of_every_kind_and_reads_them(
    network: ReaderNetwork, reader: FeatureReader, tmp_path: Path
) -> None:
    options = RunOptions(epochs=4, body_rate=3e-3, head_rate=3e-3, warmup=5, cooldown=0.2, decay=0.9, workers=1)
    run = TrainingRun(network, task_of(network, mix_of(reader, 20.0)), options=options, folder=tmp_path, seed=1)
    losses = []
    while run.progress < 1:
        losses += [sum(step.values()) - step["norm"] - step["rows"] - step["tokens"] for step in run.train_epoch()]
    assert losses[-1] < losses[0] / 10
    requests = [request_of(query.query, query.turns) for query in (*QUERIES, AMBIGUOUS)]
    requests += [ReadRequest(text=message.text, context=Context(turns=message.turns)) for message in MESSAGES]
    settings = toy_settings(thresholds=Thresholds(option=0.0))  # either option is right, so one may crowd the other out
    with run.averaged():
        found = find_all(network, [reader.read(request)[0] for request in requests], settings, pad_id=PAD)
    readings = [reading_of([window], settings) for window in found]
    _reads_references(readings[: len(QUERIES) + 1])
    _reads_messages(readings[len(QUERIES) + 1 :])


def _reads_references(readings: list[Reading]) -> None:
    assert [reading.rewrite.text for reading in readings[:-1]] == [query.target for query in QUERIES]
    assert [reading.rewrite.action for reading in readings[:-1]] == [query.action for query in QUERIES]
    asked = readings[-1].rewrite
    assert asked.action is Action.ASK
    (replacement,) = asked.replacements
    assert replacement.antecedents[0].text in {"茶", "酒"}


def _reads_messages(readings: list[Reading]) -> None:
    first, second, third = readings
    assert [(name.start, name.end, name.subtype) for name in first.names] == [(2, 4, EntitySubtype.PLACE)]
    assert [(fact.subject, fact.predicate, fact.object.text) for fact in first.facts] == [(None, "lives_in", "板桥")]
    (of_her,) = second.facts
    assert of_her.subject is not None
    assert (of_her.subject.text, of_her.subject.turn, of_her.predicate) == ("小美", 0, "likes")
    assert third.intents[0][0] is Intent.THANKS
    assert (third.names, third.facts) == ((), ())


def test_a_run_goes_on_where_its_checkpoint_was_written(
    network: ReaderNetwork, reader: FeatureReader, tmp_path: Path
) -> None:
    mix = mix_of(reader, batch_rows=1)
    run = TrainingRun(network, task_of(network, mix), options=RunOptions(workers=1), folder=tmp_path, seed=1)
    steps = run.train_epoch()
    for _ in range(3):
        next(steps)
    run.save()
    masters = [master.clone() for master in run.weights.masters]
    run.weights.load([torch.zeros_like(master) for master in masters])
    again = TrainingRun(network, task_of(network, mix), options=RunOptions(workers=1), folder=tmp_path, seed=2)
    again.resume(tmp_path / "checkpoint.pt")
    assert again.step == 3
    assert 0 < again.progress < 1
    for actual, expected in zip(again.weights.masters, masters, strict=True):
        torch.testing.assert_close(actual, expected)
    assert len(list(again.train_epoch())) == len(list(mix.batches(0))) - 3


def test_a_training_writes_its_checkpoints_and_its_log(
    network: ReaderNetwork, reader: FeatureReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["train", "DATA", "--out", str(tmp_path / "run"), "--cache", "MODELS", "--epochs", "1", "--workers", "1"]
    monkeypatch.setattr("sys.argv", [*command, "--queries", "2.5"])
    arguments = start(training_parser("Trains.", "rows", ReaderOptions))
    assert arguments.queries == 2.5
    curve = Curve(("place", "segment"), "right", "right")
    task = task_of(network, mix_of(reader, 4.0))
    train_all(network, task, lambda: {"toy": {"right": 1.0}}, curve, arguments=arguments)
    assert {path.name for path in (tmp_path / "run").iterdir()} >= {"checkpoint.pt", "best.pt", "log.jsonl"}


def test_a_marked_query_is_a_row_and_a_request() -> None:
    query = QUERIES[0]
    assert rewriting_row(query) == RewritingRow(query.turns, "它好吗", "北京好吗", "corpus", "thing")
    assert request_of(query.query, query.turns) == ReadRequest(text="它好吗", context=Context(turns=query.turns))


def test_what_an_earlier_conversation_named_is_asked_for_by_pointing_at_it() -> None:
    def query(text: str, target: str, start: int, end: int, *antecedents: str) -> MarkedQuery:
        reference = MarkedReference(start, end, antecedents)
        return MarkedQuery("9", "zh-Hant", "thing", ("我買了茶",), text, target, Action.REWRITE, (reference,))

    pointing = query("請問那台多少錢", "請問AI-Box多少錢", 2, 4, "AI-Box")
    others = [query("它呢", "茶呢", 0, 1, "茶"), query("那些呢", "茶和酒呢", 0, 2, "茶", "酒")]
    (row,) = recalled_rows([pointing, *others], seed=1)
    assert row.query.startswith("請問")
    assert row.query.endswith("那台多少錢")
    assert len(row.query) > len(pointing.query)
    assert row.target == pointing.target
    assert "AI-Box" in row.turns[0].split("、")
    assert "我買了茶" not in row.turns
    assert recalled_rows([pointing], seed=1) == recalled_rows([pointing], seed=1)
