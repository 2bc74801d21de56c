"""The models that are a file of ours are loaded in one way."""

from pathlib import Path
from typing import Any

import pytest

from memory.values.errors import ModelUnavailable
from models.body.trained_network import TrainedNetwork
from models.reader.reader import TrainedReader
from models.reranker.late_interaction import LateInteraction

MODELS: list[type[TrainedNetwork[Any]]] = [TrainedReader, LateInteraction]


@pytest.mark.parametrize("model", MODELS)
def test_a_missing_file_is_told_with_the_name_of_the_model_each_time(
    model: type[TrainedNetwork[Any]], tmp_path: Path
) -> None:
    missing = model(tmp_path / "none.safetensors", tmp_path)
    for ask in (missing.load, missing.parts, missing.load):
        with pytest.raises(ModelUnavailable, match=r"none\.safetensors") as told:
            ask()
        assert told.value.component == model.component


def test_the_weights_are_read_once(tmp_path: Path) -> None:
    class Counting(TrainedNetwork[Any]):
        component = "counting"
        reads = 0

        def _load(self) -> object:
            self.reads += 1
            return object()

    model = Counting(tmp_path / "some.safetensors", tmp_path)
    assert model.reads == 0
    assert model.parts() is model.parts()
    assert model.reads == 1
