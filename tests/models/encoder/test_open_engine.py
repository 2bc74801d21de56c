"""One place says which engine runs a folder, and what precision it serves."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from structlog.testing import capture_logs

from memory.ports.models.language import TextKind
from memory.values.errors import ModelUnavailable
from models.assets.cache_folders import sha256_of
from models.assets.catalog import DEFAULT_MODEL, ModelEntry, Pooling, get_model
from models.assets.prepare import prepare_bundled
from models.body import gate, sentence
from models.encoder.bert_engine import BertEngine
from models.encoder.open_engine import open_engine
from models.encoder.sentence_layout import SentenceLayout, read_layout
from models.encoder.sentence_transformer_engine import SentenceTransformerEngine


@pytest.fixture
def entry(tiny_bundle: Path) -> ModelEntry:
    return get_model(DEFAULT_MODEL).model_copy(update={"dimension": 32, "bundled_sha256": sha256_of(tiny_bundle)})


@pytest.fixture
def folder(entry: ModelEntry, tiny_bundle: Path, tmp_path: Path) -> Path:
    """A small model of the same shape, to be changed."""
    prepared = prepare_bundled(entry, tiny_bundle, tmp_path / "cache", lambda stage, done: None)
    return Path(shutil.copytree(prepared, tmp_path / "model"))


def change(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_bert_with_mean_pooling_runs_unpadded(entry: ModelEntry, folder: Path) -> None:
    assert read_layout(folder) == SentenceLayout(Pooling.MEAN, 16)
    engine = open_engine(entry, folder, threads=1)
    assert isinstance(engine, BertEngine)
    assert engine.padded_tokens(engine.prepare(["a", "a b c"], TextKind.QUERY)) == sum(
        text.token_count for text in engine.prepare(["a", "a b c"], TextKind.QUERY)
    )


@pytest.mark.parametrize("pooling", [Pooling.MEAN, Pooling.CLS])
def test_it_gives_what_sentence_transformers_gives(entry: ModelEntry, folder: Path, pooling: Pooling) -> None:
    config = {"word_embedding_dimension": 32, f"pooling_mode_{pooling}_tokens": True}
    if pooling is Pooling.CLS:
        config = {"word_embedding_dimension": 32, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(config))
    layout = read_layout(folder)
    assert layout is not None
    assert layout.pooling is pooling
    texts = ["a b c", "中文", "", "é a " * 20]
    exact = BertEngine(entry, folder, layout, threads=1, is_exact=True)
    reference = SentenceTransformerEngine(entry, folder, threads=1)
    np.testing.assert_allclose(
        exact.encode(texts, TextKind.PASSAGE), reference.encode(texts, TextKind.PASSAGE), atol=2e-6
    )


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("config.json", {"model_type": "mpnet"}),
        ("config.json", {"hidden_act": "relu"}),
        ("config.json", {"position_embedding_type": "relative_key"}),
        ("sentence_bert_config.json", {"do_lower_case": True}),
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}),
    ],
)
def test_what_is_no_plain_bert_is_left_to_sentence_transformers(folder: Path, file: str, changes: Any) -> None:
    change(folder / file, **changes)
    assert read_layout(folder) is None


def test_a_model_with_another_module_is_left_to_sentence_transformers(folder: Path) -> None:
    modules = json.loads((folder / "modules.json").read_text())
    modules.insert(2, {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"})
    (folder / "modules.json").write_text(json.dumps(modules))
    assert read_layout(folder) is None


def test_an_empty_folder_has_no_layout(tmp_path: Path) -> None:
    assert read_layout(tmp_path) is None


def test_a_folder_of_another_dimension_is_refused(folder: Path) -> None:
    with pytest.raises(ModelUnavailable, match="32"):
        open_engine(get_model(DEFAULT_MODEL), folder, threads=1)


def test_a_folder_with_other_weights_is_refused(entry: ModelEntry, folder: Path) -> None:
    change(folder / "config.json", intermediate_size=128)
    with pytest.raises(ModelUnavailable, match="cannot be loaded"):
        open_engine(entry, folder, threads=1)


@pytest.mark.parametrize(
    ("is_fast", "lowest", "dtype"), [(True, -1.0, "bf16"), (True, 1.1, "fp32"), (False, -1.0, "fp32")]
)
def test_bf16_is_served_where_the_cpu_is_fast_at_it_and_the_gate_passes(
    entry: ModelEntry,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_fast: bool,
    lowest: float,
    dtype: str,
) -> None:
    monkeypatch.setattr(sentence, "has_fast_bf16", lambda: is_fast)
    monkeypatch.setattr(gate, "LOWEST_COSINE", lowest)
    with capture_logs() as logs:
        engine = open_engine(entry, folder, threads=1)
    assert engine.dtype == dtype
    assert [line["passed"] for line in logs if line["event"] == "bf16_gate"] == ([lowest < 1] if is_fast else [])


@pytest.mark.parametrize("tokens", [1, 5, 40])
def test_a_batch_of_many_passes_is_in_order(
    entry: ModelEntry, folder: Path, monkeypatch: pytest.MonkeyPatch, tokens: int
) -> None:
    layout = read_layout(folder)
    assert layout is not None
    engine = BertEngine(entry, folder, layout, threads=1, is_exact=True)
    texts = ["a", "b c a b c", "中文", "", "c"]
    expected = engine.encode(texts, TextKind.QUERY)
    monkeypatch.setattr(engine, "_pass_tokens", tokens)
    np.testing.assert_allclose(engine.encode(texts, TextKind.QUERY), expected, atol=2e-6)
