import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.values.errors import ModelUnavailable
from memory.values.rewrites import RewriteRequest
from models.assets.catalog import DEFAULT_MODEL
from models.assets.weight_files import GROUP, Bits, add_weights, dequantise, read_settings
from training.shared.body import load_body
from training.shared.weight_files import quantise, save_weights

_LIMIT_BYTES = 15_000_000


@pytest.mark.parametrize("bits", [4, 8])
@given(rows=st.integers(1, 5), columns=st.integers(1, 2 * GROUP), seed=st.integers(0, 99))
@settings(max_examples=20)
def test_packed_values_come_back_close(bits: Bits, rows: int, columns: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32)
    packed, scales = quantise(values, bits)
    again = dequantise(packed, scales, values.shape, bits)
    assert again.shape == values.shape
    worst = np.abs(values).max() / 2 ** (bits - 2)
    assert np.abs(again - values).max() <= worst
    assert packed.nbytes * 8 / bits <= values.size + GROUP


@pytest.mark.parametrize("bits", [4, 8])
def test_nothing_packs_to_nothing(bits: Bits) -> None:
    packed, scales = quantise(np.zeros((3, 50), np.float32), bits)
    assert not dequantise(packed, scales, (3, 50), bits).any()


@pytest.fixture(scope="module")
def weights(e5_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A weight file of an untrained network."""
    import torch
    from models.rewriter.decisions import KeepRule, RewriterSettings
    from models.rewriter.network import RewriterNetwork, RewriterShape

    torch.manual_seed(0)
    words = ("的", "of")
    network = RewriterNetwork(load_body(e5_folder), RewriterShape(words=len(words)))
    with torch.no_grad():
        network.get_parameter("body.encoder.layer.0.output.dense.weight").add_(0.01)
    path = tmp_path_factory.mktemp("weights") / "rewriter.safetensors"
    settings = RewriterSettings(shape=network.shape, words=words, rule=KeepRule(0.0), body=DEFAULT_MODEL)
    size = save_weights(path, network, settings, e5_folder)
    assert size == path.stat().st_size < _LIMIT_BYTES
    return path


def test_weights_come_back_with_their_settings(weights: Path, e5_folder: Path) -> None:
    from models.rewriter.decisions import RewriterSettings
    from models.rewriter.network import RewriterNetwork

    settings = read_settings(weights, RewriterSettings)
    assert settings.words == ("的", "of")
    assert settings.rule.threshold == 0.0
    network = RewriterNetwork(load_body(e5_folder), settings.shape)
    name = "encoder.layer.0.output.dense.weight"
    before = network.body.get_parameter(name).detach().clone()
    add_weights(weights, network.named_parameters(), component="rewriter")
    change = network.body.get_parameter(name).detach() - before
    np.testing.assert_allclose(change.numpy(), 0.01, rtol=0.01)


def test_a_corrupt_or_missing_file_is_named(weights: Path, tmp_path: Path) -> None:
    from models.rewriter.decisions import RewriterSettings

    corrupt = tmp_path / "rewriter.safetensors"
    corrupt.write_bytes(weights.read_bytes()[:-1] + b"!")
    corrupt.with_suffix(".json").write_text(weights.with_suffix(".json").read_text())
    with pytest.raises(ModelUnavailable, match=r"rewriter\.safetensors is corrupt"):
        read_settings(corrupt, RewriterSettings)
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        read_settings(tmp_path / "none.safetensors", RewriterSettings)


def test_the_rewriter_says_what_it_copied_and_from_where(weights: Path, e5_folder: Path) -> None:
    from models.rewriter.rewriter import TrainedRewriter

    rewriter = TrainedRewriter(weights, e5_folder.parent, threads=1)
    requests = [
        RewriteRequest(query="它多少錢？", turns=("我想買 AI-Box", "好的")),
        RewriteRequest(query="what about it?", turns=("I like Frank Zappa.",), names=("AI-Box", "宏康")),
        RewriteRequest(query="在嗎"),
        RewriteRequest(query=""),
    ]
    results = rewriter.rewrite(requests)
    assert [result.text for result in results] == [request.query for request in requests]  # its rule keeps everything
    prepared = rewriter.prepare(requests[::-1])
    assert [request.token_count for request in prepared] == [2, 4, 20, 17]
    for request, result in zip(requests, rewriter.forward(prepared)[::-1], strict=True):
        assert 0 <= result.keep_probability <= 1
        assert 0 <= result.confidence <= 1
        for replacement in result.replacements:
            assert 0 <= replacement.start <= replacement.end <= len(request.query)


def test_copied_spans_have_offsets_into_their_turns(e5_folder: Path, tmp_path: Path) -> None:
    from models.rewriter.decisions import KeepRule
    from models.rewriter.decoding import Filling, Rewrite
    from models.rewriter.edits import Edit, Segment
    from models.rewriter.features import FeatureReader
    from models.rewriter.inference import Rewritten
    from models.rewriter.rewriter import replacements_of, result_of

    from models.assets.compact_vocabulary import open_vocabulary
    from models.body.edit_units import EditUnitTokenizer

    request = RewriteRequest(query="它多少錢？", turns=("我想買 AI-Box", "", "好的"), names=("宏康",))
    reader = FeatureReader(EditUnitTokenizer(open_vocabulary(e5_folder, tmp_path)), ["的"])
    features = reader.read(["宏康", *request.turns], request.query)
    edits = (Edit(0, 1, (Segment(0, 2), Segment(5, 8))), Edit(5, 5, (Segment(8, 10),)))
    fillings = Filling((0.9, 0.8), ((Segment(5, 8), 0.1),)), Filling((0.7,))
    rewritten = Rewritten(features, Rewrite(edits, -0.5, (-0.2, -0.3), 0.1, fillings))
    first, second = replacements_of(request, rewritten, KeepRule())
    assert (first.start, first.end, first.text) == (0, 1, "宏康AI-Box")
    assert [
        (antecedent.text, antecedent.turn, antecedent.start, antecedent.end, antecedent.probability)
        for antecedent in first.antecedents
    ] == [
        ("宏康", None, 0, 2, 0.9),
        ("AI-Box", 0, 4, 10, 0.8),
    ]
    assert [(alternative.text, alternative.turn, alternative.probability) for alternative in first.alternatives] == [
        ("AI-Box", 0, 0.1)
    ]
    assert first.confidence == pytest.approx(math.exp(-0.2))
    assert (second.start, second.end) == (5, 5)
    assert [(antecedent.text, antecedent.turn) for antecedent in second.antecedents] == [("好的", 2)]
    whole = result_of(request, rewritten, KeepRule())
    assert whole.text == "宏康AI-Box多少錢？好的"
    assert whole.confidence == pytest.approx(0.9 * math.exp(-0.3))
    unchanged = result_of(request, rewritten, KeepRule(threshold=0.0))
    assert (unchanged.text, unchanged.replacements) == (request.query, ())
    assert unchanged.confidence == pytest.approx(0.1)
