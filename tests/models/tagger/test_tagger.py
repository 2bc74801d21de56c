from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory.values.errors import ModelUnavailable
from memory.values.mentions import EntitySubtype
from models.assets.catalog import DEFAULT_MODEL
from models.assets.weight_files import add_weights, read_settings, shipped_weight_file
from training.shared.body import load_body

_LIMIT_BYTES = 15_000_000
_TEXTS = [
    "我們公司上個月買了 AI-Box，放在三樓機房。",
    "",
    " \n",
    "Ask Ann about 宏康 HCI.",
    "很長的句子。" * 120,
]


@pytest.fixture(scope="module")
def network(e5_folder: Path) -> Any:
    import torch
    from models.tagger.labels import LABELS
    from models.tagger.network import TaggerNetwork, TaggerShape

    torch.manual_seed(0)
    network = TaggerNetwork(load_body(e5_folder), TaggerShape(labels=len(LABELS), sources=3))
    with torch.no_grad():
        network.get_parameter("body.encoder.layer.0.output.dense.weight").add_(0.01)
    return network.eval()


@pytest.fixture(scope="module")
def weights(network: Any, e5_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A weight file of an untrained network."""
    from models.tagger.network import TaggerSettings

    from training.shared.weight_files import save_weights

    path = tmp_path_factory.mktemp("weights") / "tagger.safetensors"
    settings = TaggerSettings(
        shape=network.shape,
        sources=("weibo", "msra"),
        thresholds=dict.fromkeys(EntitySubtype, 0.5),
        body=DEFAULT_MODEL,
    )
    assert save_weights(path, network, settings, e5_folder) == path.stat().st_size < _LIMIT_BYTES
    return path


def test_weights_come_back_with_their_settings(network: Any, weights: Path, e5_folder: Path) -> None:
    from models.tagger.network import TaggerNetwork, TaggerSettings

    settings = read_settings(weights, TaggerSettings)
    assert settings.sources == ("weibo", "msra")
    assert settings.thresholds[EntitySubtype.CODE] == 0.5
    again = TaggerNetwork(load_body(e5_folder), settings.shape)
    add_weights(weights, again.named_parameters(), component="tagger")
    for name in ("body.encoder.layer.0.output.dense.weight", "first.weight", "mix.weight", "sources.weight"):
        expected, loaded = network.get_parameter(name).detach(), again.get_parameter(name).detach()
        np.testing.assert_allclose(expected.numpy(), loaded.numpy(), atol=0.02)


def test_a_corrupt_or_missing_file_is_named(weights: Path, tmp_path: Path) -> None:
    from models.tagger.network import TaggerSettings

    corrupt = tmp_path / "tagger.safetensors"
    corrupt.write_bytes(weights.read_bytes()[:-1] + b"!")
    corrupt.with_suffix(".json").write_text(weights.with_suffix(".json").read_text())
    with pytest.raises(ModelUnavailable, match=r"tagger\.safetensors is corrupt"):
        read_settings(corrupt, TaggerSettings)
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        read_settings(tmp_path / "none.safetensors", TaggerSettings)


def test_names_have_exact_offsets_and_do_not_overlap(e5_folder: Path) -> None:
    from models.tagger.tagger import TrainedTagger

    tagger = TrainedTagger(shipped_weight_file("tagger"), e5_folder.parent, threads=1)
    tagger.load()
    spans_of_texts = tagger.tag(_TEXTS)
    assert [_TEXTS[0][span.start : span.end] for span in spans_of_texts[0]] == ["AI-Box"]
    assert spans_of_texts[1] == spans_of_texts[2] == []
    for text, spans in zip(_TEXTS, spans_of_texts, strict=True):
        at = 0
        for span in spans:
            assert at <= span.start < span.end <= len(text)
            assert text[span.start : span.end].strip() == text[span.start : span.end]
            assert isinstance(span.subtype, EntitySubtype)
            assert 0.0 < span.score <= 1.0
            at = span.end
    again = tagger.tag(_TEXTS[::-1])[::-1]
    assert [[(span.start, span.end, span.subtype) for span in spans] for spans in again[:4]] == [
        [(span.start, span.end, span.subtype) for span in spans] for spans in spans_of_texts[:4]
    ]


def test_a_missing_file_is_found_out_at_the_first_call_only(e5_folder: Path, tmp_path: Path) -> None:
    from models.tagger.tagger import TrainedTagger

    tagger = TrainedTagger(tmp_path / "none.safetensors", e5_folder.parent)
    with pytest.raises(ModelUnavailable, match=r"none\.safetensors"):
        tagger.tag(["好"])
