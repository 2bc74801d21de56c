"""The heads that tell requests of a kind: what they learn from, and that nothing else changes."""

from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file, save_file
from torch import nn

from models.assets.weight_files import read_settings
from models.body.network_parts import ScoreHead
from models.reader.decisions import ReaderSettings
from models.reader.reader import reading_of
from tests.models.reader.test_reader import found
from tests.models.reader.toys import toy_settings
from training.reader.message_heads import Kind, choose_bounds, read_marked
from training.shared.data_sets import Part
from training.shared.heads import binary_loss, train_head
from training.shared.weight_files import replace_weights


def test_messages_are_read_with_their_mark_and_part(tmp_path: Path) -> None:
    folder = tmp_path / "overviews"
    folder.mkdir()
    (folder / "en-o1.txt").write_text("+ Ivy: recap\n- when is Ivy's lesson?\n\n# a remark\n", encoding="utf-8")
    (folder / "zh-Hant-o3.txt").write_text("+ 小芸的事說來聽聽\n", encoding="utf-8")
    tuned, trained = (read_marked([tmp_path], Kind.OVERVIEW, part) for part in (Part.TUNE, Part.TRAIN))
    assert [(row.text, row.asks) for row in tuned] == [("Ivy: recap", True), ("when is Ivy's lesson?", False)]
    assert [(row.language, row.asks) for row in trained] == [("zh-Hant", True)]


def test_requests_to_forget_are_learned_from_what_they_stand_among(tmp_path: Path) -> None:
    for folder, text in {
        "forget_messages": "+ lose my PIN\n- I lost my keys\n",
        "forgets": "@ 2026-03-02\n1 the PIN is 4471\nR: don't keep that => 1\n---\n",
        "overviews": "+ what do you know of me\n- when is the lesson?\n",
        "intents": "M: scrap my number\nI: forget\n---\n",
    }.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "en-k9.txt").write_text(text, encoding="utf-8")
    marked = read_marked([tmp_path], Kind.FORGET, Part.TRAIN)
    assert {row.text: row.asks for row in marked} == {
        "lose my PIN": True,
        "I lost my keys": False,
        "the PIN is 4471": False,
        "don't keep that": True,
        "scrap my number": True,
        "what do you know of me": False,
    }


def test_a_head_tells_apart_what_can_be_told_apart() -> None:
    torch.manual_seed(0)
    inputs = torch.randn(200, 96)
    asks = inputs[:, 3] > 0
    head = ScoreHead(48, states=2)
    train_head(head, inputs.split(1), asks.float().split(1), loss=binary_loss, epochs=60, batch=64, decay=0.01)
    assert ((head(inputs) > 0) == asks).sum() > 180


def test_the_bound_is_where_most_is_found_and_least_taken_for_one() -> None:
    scores, asks = [0.9, 0.42, 0.38, 0.1], [True, True, False, False]
    assert choose_bounds(Kind.OVERVIEW, scores, asks) == {"overview": 0.4}


def test_what_asks_to_forget_is_carried_out_from_where_nothing_else_is_taken_for_it() -> None:
    scores, asks = [0.95, 0.9, 0.85, 0.7, 0.1], [True, True, True, False, False]
    assert choose_bounds(Kind.FORGET, scores, asks) == {"forget": 0.75, "forget_surely": 0.75}
    assert choose_bounds(Kind.FORGET, [0.9, 0.6, 0.7, 0.1], [True, True, False, False])["forget_surely"] == 0.75


def test_a_head_is_written_beside_weights_that_stay_as_they_are(tmp_path: Path) -> None:
    path, settings = tmp_path / "reader.safetensors", toy_settings()
    kept, head = nn.Linear(8, 3), ScoreHead(8, states=2)
    save_file({}, path)
    replace_weights(path, {f"kept.{name}": value for name, value in kept.named_parameters()}, settings)
    before = load_file(path)
    replace_weights(path, {f"overview.{name}": value for name, value in head.named_parameters()}, settings)
    after = load_file(path)
    assert all(np.array_equal(after[name], value) for name, value in before.items())
    assert {name.partition(".packed")[0] for name in after.keys() - before.keys() if "scales" not in name} == {
        f"overview.{name}" for name, _ in head.named_parameters()
    }
    assert read_settings(path, ReaderSettings) == settings  # the checksum is that of the new file


def test_a_message_asks_for_an_overview_from_its_threshold_on() -> None:
    assert reading_of([found(overview=0.6)], toy_settings()).overview
    assert not reading_of([found(overview=0.4)], toy_settings()).overview
    assert not reading_of([found(overview=0.6), found(overview=0.6)], toy_settings()).overview  # a long text
