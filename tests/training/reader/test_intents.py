"""Training of the intents alone: they are learned, and nothing else changes."""

import random
from dataclasses import replace
from pathlib import Path

import torch

from memory.values.understanding.readings import Intent
from models.reader.features import FeatureReader
from models.reader.network import ReaderNetwork
from tests.models.reader.toys import PAD, toy_settings
from training.reader.corpus import MarkedMessage, read_intents
from training.reader.intents import summarise, train_head, varied
from training.reader.networks import LoadedReader
from training.shared.data_sets import Part

TOLD = MarkedMessage("1", "en", ("hi",), "I moved to Rome", (), (Intent.STATEMENT,), ())
ASKED = MarkedMessage("2", "zh-Hans", (), "谢谢你", (), (Intent.THANKS,), ())
FORGOTTEN = MarkedMessage("3", "zh-Hans", ("我住板桥",), "那段别留了", (), (Intent.FORGET,), ())
ROWS = [TOLD, ASKED, FORGOTTEN]


def test_the_head_learns_intents_and_the_rest_stays(network: ReaderNetwork, reader: FeatureReader) -> None:
    loaded = LoadedReader(network.eval(), reader, PAD, toy_settings())
    before = {name: value.detach().clone() for name, value in network.named_parameters()}
    torch.manual_seed(1)
    learned = summarise(loaded, ROWS * 40)
    kept = train_head(loaded, learned, summarise(loaded, ROWS), epochs=60, rate=0.02)
    changed = {name for name, value in network.named_parameters() if not torch.equal(value, before[name])}
    assert changed == kept.keys()
    for name, value in kept.items():
        network.get_parameter(name).data = torch.from_numpy(value)
    scores = network.intent_scores(summarise(loaded, ROWS).vectors)
    assert [list(Intent)[int(best)] for best in scores.argmax(dim=1)] == [row.intents[0] for row in ROWS]


def test_every_message_comes_once_as_it_is_and_once_varied() -> None:
    rows = [replace(TOLD, id=str(number), turns=()) for number in range(200)]
    both = varied(rows, random.Random(1))
    assert both[:200] == rows
    later = both[200:]
    assert [row.id for row in later] == [row.id for row in rows]
    assert {row.text for row in later} == {"I moved to Rome", "i moved to rome"}
    assert {len(row.turns) for row in later} == {0, 1, 2, 3}


def test_messages_with_their_intents_alone_are_read(tmp_path: Path) -> None:

    (tmp_path / "intents").mkdir()
    block = (
        "U: my locker code is 4711\nM: scrap that\nI: forget\nX: locker code\n---\nM: thanks!\nI: thanks, chitchat\n"
    )
    (tmp_path / "intents" / "en-q1.txt").write_text(block, encoding="utf-8")
    [scrapped, thanked] = read_intents([tmp_path], Part.TRAIN)
    assert (scrapped.text, scrapped.turns, scrapped.intents) == (
        "scrap that",
        ("my locker code is 4711",),
        (Intent.FORGET,),
    )
    assert thanked.intents == (Intent.THANKS, Intent.CHITCHAT)
