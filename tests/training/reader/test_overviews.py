"""The head that tells requests for an overview: what it learns from, and that it changes nothing else."""

from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file, save_file
from torch import nn

from models.assets.weight_files import read_settings
from models.reader.decisions import ReaderSettings
from models.reader.network import OverviewHead
from models.reader.reader import reading_of
from tests.models.reader.test_reader import found
from tests.models.reader.toys import toy_settings
from training.reader.overviews import choose_bound, read_overviews, train_head
from training.shared.data_sets import Part
from training.shared.weight_files import replace_weights


def test_messages_are_read_with_their_mark_and_part(tmp_path: Path) -> None:
    folder = tmp_path / "overviews"
    folder.mkdir()
    (folder / "en-o1.txt").write_text("+ Ivy: recap\n- when is Ivy's lesson?\n\n# a remark\n", encoding="utf-8")
    (folder / "zh-Hant-o3.txt").write_text("+ 小芸的事說來聽聽\n", encoding="utf-8")
    tuned, trained = (read_overviews([tmp_path], part) for part in (Part.TUNE, Part.TRAIN))
    assert [(row.text, row.asks) for row in tuned] == [("Ivy: recap", True), ("when is Ivy's lesson?", False)]
    assert [(row.language, row.asks) for row in trained] == [("zh-Hant", True)]


def test_a_head_tells_apart_what_can_be_told_apart() -> None:
    torch.manual_seed(0)
    inputs = torch.randn(200, 96)
    asks = (inputs[:, 3] > 0).tolist()
    head = OverviewHead(48)
    train_head(head, inputs, asks)
    found_by = (head(inputs) > 0).tolist()
    assert sum(one == other for one, other in zip(found_by, asks, strict=True)) > 180


def test_the_bound_is_where_most_is_found_and_least_taken_for_one() -> None:
    assert choose_bound([0.9, 0.42, 0.38, 0.1], [True, True, False, False]) == 0.4


def test_a_head_is_written_beside_weights_that_stay_as_they_are(tmp_path: Path) -> None:
    path, settings = tmp_path / "reader.safetensors", toy_settings()
    kept, head = nn.Linear(8, 3), OverviewHead(8)
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
