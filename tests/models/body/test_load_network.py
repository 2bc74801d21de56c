"""What is served computes what was trained: the same network, its weights mapped, its body in another layout."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from memory.values.errors import ModelUnavailable
from models.assets.cache_folders import sha256_of
from models.assets.catalog import DEFAULT_MODEL
from models.assets.weight_files import WeightSettings, add_weights
from models.body import gate
from models.body import load_network as loading
from models.body.load_network import load_network, network_dtype
from training.shared.body import load_body
from training.shared.weight_files import save_weights

SETTINGS = WeightSettings(format=1, body=DEFAULT_MODEL)


class Network(nn.Module):
    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body
        self.head = nn.Linear(384, 3)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        scores: Tensor = self.head(self.body(input_ids=ids, attention_mask=mask).last_hidden_state)
        return scores


@pytest.fixture(scope="module")
def weights(e5_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As if training had moved every matrix of the body a little."""
    torch.manual_seed(0)
    network = Network(load_body(e5_folder))
    with torch.no_grad():
        for name, parameter in network.body.named_parameters():
            if parameter.ndim == 2 and "word_embeddings" not in name:
                parameter.add_(0.02 * parameter.std() * torch.randn_like(parameter))
    path = tmp_path_factory.mktemp("weights") / "network.safetensors"
    save_weights(path, network, SETTINGS, e5_folder)
    return path


@pytest.fixture(scope="module")
def cache(e5_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of its own, in which the body is there already."""
    folder = tmp_path_factory.mktemp("cache")
    (folder / e5_folder.name).symlink_to(e5_folder)
    return folder


def served(weights: Path, cache: Path) -> Network:
    return load_network(weights, Network, body=DEFAULT_MODEL, cache=cache, device="cpu", component="reader")[0]


def padded_batch() -> tuple[Tensor, Tensor]:
    ids = torch.randint(5, 100_000, (3, 20), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(ids)
    mask[1, 7:] = 0
    mask[2, 1:] = 0
    return ids, mask


@pytest.mark.parametrize(("fast", "dtype", "tolerance"), [(False, "fp32", 1e-4), (True, "bf16", 0.03)])
def test_it_computes_what_the_trained_network_computes(
    weights: Path,
    cache: Path,
    e5_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    fast: bool,
    dtype: str,
    tolerance: float,
) -> None:
    monkeypatch.setattr(loading, "has_fast_bf16", lambda: fast)
    trained = Network(load_body(e5_folder)).eval()
    add_weights(weights, trained.named_parameters(), component="reader")
    network = served(weights, cache)
    assert network_dtype(network) == dtype
    ids, mask = padded_batch()
    with torch.inference_mode():
        expected, actual = trained(ids, mask), network(ids, mask)
    real_tokens = mask.bool()
    assert (expected - actual)[real_tokens].abs().max() < tolerance * expected[real_tokens].abs().max()
    assert functional.cosine_similarity(expected[real_tokens], actual[real_tokens], dim=-1).min() > 0.99


def test_processes_share_its_pages(weights: Path, cache: Path) -> None:
    """Nothing of the matrices is the process's own memory: every one lies in a mapped file."""
    network = served(weights, cache)
    maps = Path("/proc/self/maps").read_text().splitlines()
    mapped = [
        (int(start, 16), int(end, 16))
        for line in maps
        if "safetensors" in line
        for start, end in [line.split()[0].split("-")]
    ]
    for name, parameter in network.named_parameters():
        assert any(start <= parameter.data_ptr() < end for start, end in mapped), name


def test_weights_are_worked_out_once(weights: Path, cache: Path) -> None:
    served(weights, cache)
    before = {path: path.stat().st_mtime_ns for path in (cache / "trained").rglob("*.safetensors")}
    served(weights, cache)
    assert {path: path.stat().st_mtime_ns for path in (cache / "trained").rglob("*.safetensors")} == before


def test_what_was_worked_out_from_other_weights_goes_once_nobody_computes_with_it(
    weights: Path, e5_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / e5_folder.name).symlink_to(e5_folder)
    other_file = tmp_path / "other.safetensors"
    save_weights(other_file, Network(load_body(e5_folder)), SETTINGS, e5_folder)

    def folders() -> set[str]:
        return {path.name.split("-")[1] for path in (tmp_path / "trained").iterdir() if path.is_dir()}

    old = served(weights, tmp_path)
    served(other_file, tmp_path)
    assert folders() == {sha256_of(weights)[:12], sha256_of(other_file)[:12]}
    del old
    served(other_file, tmp_path)
    assert folders() == {sha256_of(other_file)[:12]}


def test_what_fails_the_gate_is_served_in_fp32(
    weights: Path, e5_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / e5_folder.name).symlink_to(e5_folder)
    monkeypatch.setattr(loading, "has_fast_bf16", lambda: True)
    monkeypatch.setattr(gate, "LOWEST_COSINE", 1.1)
    assert network_dtype(served(weights, tmp_path)) == "fp32"


def test_weights_of_another_network_are_refused(weights: Path, cache: Path) -> None:
    def build(body: nn.Module) -> Network:
        network = Network(body)
        network.head = nn.Linear(384, 5)
        return network

    with pytest.raises(ModelUnavailable, match="The reader cannot be loaded"):
        load_network(weights, build, body=DEFAULT_MODEL, cache=cache, device="cpu", component="reader")
