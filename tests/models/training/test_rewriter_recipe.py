from pathlib import Path

import pytest
import torch

from models.training.rewriter_recipe import SHIPPED, STAGES, blended
from models.training.rewriting_data import DATA_SETS


def test_every_stage_reads_data_sets_that_exist_and_starts_from_earlier_ones() -> None:
    names = {one.name for one in DATA_SETS}
    done: set[str] = set()
    for stage in STAGES:
        assert {name for name, _ in stage.sets} <= names
        assert {name for name, _ in stage.start} <= done
        assert not stage.start or sum(share for _, share in stage.start) == pytest.approx(1)
        done.add(stage.name)
    assert {name for name, _ in SHIPPED} <= done


def test_open_sets_alone_still_train_something() -> None:
    open_sets = {one.name for one in DATA_SETS if one.is_open}
    assert any(open_sets & {name for name, _ in stage.sets} for stage in STAGES)


def test_a_blend_weighs_the_averaged_weights_of_its_parts(tmp_path: Path) -> None:
    for name, value in (("a", 0.0), ("b", 4.0)):
        torch.save({"average": [torch.full((2,), value)], "shape": {"words": 3}}, tmp_path / f"{name}.pt")
    blend = blended([(tmp_path / "a.pt", 0.25), (tmp_path / "b.pt", 0.75)], tmp_path / "blend.pt")
    state = torch.load(blend, weights_only=True)
    assert state["average"][0].tolist() == [3.0, 3.0]
    assert state["shape"] == {"words": 3}
    assert state["masters"][0].tolist() == [3.0, 3.0]
    alone = blended([(tmp_path / "b.pt", 0.75)], tmp_path / "alone.pt")
    assert torch.load(alone, weights_only=True)["average"][0].tolist() == [4.0, 4.0]
