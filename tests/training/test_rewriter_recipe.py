import pytest
from training.rewriter.data import DATA_SETS
from training.rewriter.recipe import SHIPPED, STAGES


def test_every_stage_reads_data_sets_that_exist_and_starts_from_earlier_ones() -> None:
    names = {data_set.name for data_set in DATA_SETS}
    done: set[str] = set()
    for stage in STAGES:
        assert {name for name, _ in stage.sets} <= names
        assert {name for name, _ in stage.start} <= done
        assert not stage.start or sum(share for _, share in stage.start) == pytest.approx(1)
        done.add(stage.name)
    assert {name for name, _ in SHIPPED} <= done


def test_open_sets_alone_still_train_something() -> None:
    open_sets = {data_set.name for data_set in DATA_SETS if data_set.is_open}
    assert any(open_sets & {name for name, _ in stage.sets} for stage in STAGES)
