"""Our own reranker: its weight file and what a deployment calls."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from memory.values.errors import ModelUnavailable
from models.assets.catalog import DEFAULT_MODEL
from models.assets.weight_files import add_weights, read_settings
from models.reranker.late_interaction import LateInteraction
from models.reranker.network import RerankerNetwork, RerankerSettings, RerankerShape
from models.reranker.scorer import probability
from training.shared.body import load_body
from training.shared.weight_files import save_weights

_LIMIT_BYTES = 15_000_000
PAIRS = [
    ("Where is the spare key?", "The spare key is in the blue drawer."),
    ("Where is the spare key?", "We had soup for dinner."),
    ("備用鑰匙在哪裡？", "備用鑰匙在藍色抽屜裡。"),
    ("備用鑰匙在哪裡？", "今天天氣很好。"),
]


@pytest.fixture(scope="module")
def weights(e5_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A weight file of an untrained network with the first nine layers."""
    import torch

    torch.manual_seed(0)
    network = RerankerNetwork(load_body(e5_folder), RerankerShape(layers=9))
    with torch.no_grad():
        network.get_parameter("body.encoder.layer.0.output.dense.weight").add_(0.001)
    path = tmp_path_factory.mktemp("weights") / "reranker.safetensors"
    settings = RerankerSettings(shape=network.shape, temperature=2.0, body=DEFAULT_MODEL)
    assert save_weights(path, network, settings, e5_folder) == path.stat().st_size < _LIMIT_BYTES
    return path


@pytest.fixture(scope="module")
def encoder(weights: Path, e5_folder: Path) -> LateInteraction:
    return LateInteraction(weights, e5_folder.parent, threads=1)


def test_settings_come_back(weights: Path) -> None:
    settings = read_settings(weights, RerankerSettings)
    assert (settings.shape.layers, settings.temperature, settings.body) == (9, 2.0, DEFAULT_MODEL)


def test_weights_come_back(weights: Path, e5_folder: Path) -> None:
    body = load_body(e5_folder)
    name = "encoder.layer.0.output.dense.weight"
    before = body.get_parameter(name).detach().clone()
    network = RerankerNetwork(body, read_settings(weights, RerankerSettings).shape)
    add_weights(weights, network.named_parameters(), component="reranker")
    change = network.body.get_parameter(name).detach() - before
    np.testing.assert_allclose(change.numpy(), 0.001, rtol=0.01)


def test_what_training_left_as_it_was_is_not_in_the_file(weights: Path, encoder: LateInteraction) -> None:
    assert weights.stat().st_size < 1_000_000
    assert encoder.score(PAIRS[:1])[0] > 0.5


def test_nothing_is_read_before_it_is_needed(tmp_path: Path) -> None:
    encoder = LateInteraction(tmp_path / "none.safetensors", tmp_path)
    assert encoder.score([]) == []
    with pytest.raises(ModelUnavailable, match=r"none\.safetensors cannot be read"):
        encoder.load()


def test_a_corrupt_file_is_named(weights: Path, e5_folder: Path, tmp_path: Path) -> None:
    corrupt = tmp_path / "reranker.safetensors"
    corrupt.write_bytes(weights.read_bytes()[:-1] + b"!")
    shutil.copy(weights.with_suffix(".json"), corrupt.with_suffix(".json"))
    with pytest.raises(ModelUnavailable, match=r"reranker\.safetensors is corrupt"):
        LateInteraction(corrupt, e5_folder.parent).score(PAIRS)


def test_scores_lie_between_0_and_1_and_the_answer_scores_higher(encoder: LateInteraction) -> None:
    scores = encoder.score(PAIRS)
    assert all(0 <= score <= 1 for score in scores)
    assert scores[0] > scores[1]
    assert scores[2] > scores[3]


def test_a_score_does_not_depend_on_what_it_is_computed_with(encoder: LateInteraction) -> None:
    together = encoder.score(PAIRS)
    alone = [encoder.score([pair])[0] for pair in reversed(PAIRS)]
    np.testing.assert_allclose(together, alone[::-1], atol=1e-4)


def test_several_threads_get_their_own_scores(encoder: LateInteraction) -> None:
    expected = encoder.score(PAIRS)
    with ThreadPoolExecutor(4) as pool:
        scores = list(pool.map(lambda number: encoder.score([PAIRS[number % 4]])[0], range(12)))
    np.testing.assert_allclose(scores, [expected[number % 4] for number in range(12)], atol=1e-4)


def test_a_text_that_no_tokenizer_can_read_is_read_all_the_same(encoder: LateInteraction) -> None:
    [score] = encoder.score([("key \ud800", "\udfff" * 3)])
    assert 0 <= score <= 1


@pytest.mark.parametrize(("logit", "expected"), [(0.0, 0.5), (1e9, 1.0), (-1e9, 0.0)])
def test_a_logit_becomes_a_probability(logit: float, expected: float) -> None:
    assert probability(logit) == pytest.approx(expected, abs=1e-12)


def test_what_is_no_number_is_no_score() -> None:
    with pytest.raises(FloatingPointError):
        probability(float("nan"))
