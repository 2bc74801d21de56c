"""Weight files of the reader, on the prepared body."""

import asyncio
from pathlib import Path

import numpy as np
import pytest
import torch

from memory.ports.models.language import Priority
from memory.values.errors import ModelUnavailable
from memory.values.understanding.readings import Action, Context, ReadRequest
from models.assets.catalog import DEFAULT_MODEL
from models.assets.weight_files import add_weights, read_settings
from models.body.calibration import Calibration
from models.reader.decisions import ReaderSettings, Thresholds
from models.reader.network import ReaderNetwork
from models.reader.reader import BatchedReader, TrainedReader
from training.reader.networks import reader_shape
from training.shared.body import load_body
from training.shared.weight_files import save_weights

_REQUESTS = [
    ReadRequest(text="它多少錢？", context=Context(turns=("我想買 AI-Box", "好的"))),
    ReadRequest(text="what about it?", context=Context(turns=("I like Frank Zappa.",), names=("AI-Box", "宏康"))),
    ReadRequest(text="在嗎"),
    ReadRequest(text=""),
    ReadRequest(text="很長的句子。" * 120, context=Context(turns=("好",))),
]


@pytest.fixture(scope="module")
def network(e5_folder: Path) -> ReaderNetwork:
    torch.manual_seed(0)
    network = ReaderNetwork(load_body(e5_folder), reader_shape(words=2, sources=2))
    with torch.no_grad():
        network.get_parameter("body.encoder.layer.0.output.dense.weight").add_(0.01)
    return network.eval()


@pytest.fixture(scope="module")
def weights(network: ReaderNetwork, e5_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A weight file of an untrained network, which keeps everything."""
    path = tmp_path_factory.mktemp("weights") / "reader.safetensors"
    settings = ReaderSettings(
        shape=network.shape,
        words=("的", "of"),
        sources=("weibo", "msra"),
        thresholds=Thresholds(keep=0.0),
        edit=Calibration(weight=1.5),
        body=DEFAULT_MODEL,
    )
    assert save_weights(path, network, settings, e5_folder) == path.stat().st_size
    return path


def test_weights_come_back_with_their_settings(network: ReaderNetwork, weights: Path, e5_folder: Path) -> None:
    settings = read_settings(weights, ReaderSettings)
    assert (settings.words, settings.sources) == (("的", "of"), ("weibo", "msra"))
    assert (settings.thresholds.keep, settings.edit.weight) == (0.0, 1.5)
    again = ReaderNetwork(load_body(e5_folder), settings.shape)
    add_weights(weights, again.named_parameters(), component="reader")
    for name in (
        "body.encoder.layer.0.output.dense.weight",
        "names.first.weight",
        "edits.place_left.weight",
        "facts.predicates.weight",
        "intent_score.bias",
        "sources.weight",
    ):
        expected, loaded = network.get_parameter(name).detach(), again.get_parameter(name).detach()
        np.testing.assert_allclose(expected.numpy(), loaded.numpy(), atol=0.02)


def test_a_corrupt_or_missing_file_is_named(weights: Path, tmp_path: Path) -> None:
    corrupt = tmp_path / "reader.safetensors"
    corrupt.write_bytes(weights.read_bytes()[:-1] + b"!")
    corrupt.with_suffix(".json").write_text(weights.with_suffix(".json").read_text())
    with pytest.raises(ModelUnavailable, match=r"reader\.safetensors is corrupt"):
        read_settings(corrupt, ReaderSettings)
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        read_settings(tmp_path / "none.safetensors", ReaderSettings)


def test_the_file_is_read_and_serves_messages_in_order(weights: Path, e5_folder: Path) -> None:
    async def serve() -> None:
        reader = BatchedReader(TrainedReader(weights, e5_folder.parent, threads=1))
        assert reader.model.load_error == ""
        together = await reader.read(_REQUESTS)
        one_by_one = [(await reader.read([request], priority=Priority.BATCH))[0] for request in _REQUESTS]
        await reader.model.close()
        assert [reading.rewrite.text for reading in together] == [request.text for request in _REQUESTS]
        for request, reading, alone in zip(_REQUESTS, together, one_by_one, strict=True):
            assert reading.rewrite.action is Action.KEEP
            assert [intent for intent, _ in reading.intents[:1]] == [intent for intent, _ in alone.intents[:1]]
            assert bool(reading.intents) == bool(request.text)
            for name in reading.names:
                assert request.text[name.start : name.end].strip() != ""

    asyncio.run(serve())


def test_messages_are_tokenised_with_their_context(weights: Path, e5_folder: Path) -> None:
    prepared = TrainedReader(weights, e5_folder.parent, threads=1).prepare(_REQUESTS)
    assert [len(message.windows) for message in prepared] == [1, 1, 1, 1, 3]
    assert [message.token_count for message in prepared[:4]] == [17, 20, 4, 2]
