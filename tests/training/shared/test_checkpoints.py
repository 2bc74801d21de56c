from pathlib import Path

import pytest
import torch
from torch import nn

from training.shared.checkpoints import average_checkpoints, load_average, read_checkpoint


class ToyNetwork(nn.Module):
    """A body with frozen embeddings, and a head registered before it."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(2, 1, bias=False)
        self.body = nn.ModuleDict({"word_embeddings": nn.Embedding(3, 2), "layer": nn.Linear(2, 2, bias=False)})


def test_a_blend_weighs_the_averaged_weights_of_its_parts(tmp_path: Path) -> None:
    for name, value in (("a", 0.0), ("b", 4.0)):
        torch.save({"average": [torch.full((2,), value)], "shape": {"words": 3}}, tmp_path / f"{name}.pt")
    state = read_checkpoint(
        average_checkpoints([(tmp_path / "a.pt", 0.25), (tmp_path / "b.pt", 0.75)], tmp_path / "blend.pt")
    )
    assert state["average"][0].tolist() == [3.0, 3.0]
    assert state["shape"] == {"words": 3}
    assert state["masters"][0].tolist() == [3.0, 3.0]
    alone = read_checkpoint(average_checkpoints([(tmp_path / "b.pt", 0.75)], tmp_path / "alone.pt"))
    assert alone["average"][0].tolist() == [4.0, 4.0]


def test_heads_that_only_the_last_network_has_stay_as_they_are(tmp_path: Path) -> None:
    body, head = torch.zeros(2), torch.full((3,), 7.0)
    torch.save({"average": [body], "shape": {}}, tmp_path / "before.pt")
    torch.save({"average": [body + 4.0, head], "shape": {"meant": True}}, tmp_path / "after.pt")
    mean = average_checkpoints([(tmp_path / name, 0.5) for name in ("before.pt", "after.pt")], tmp_path / "mean.pt")
    state = read_checkpoint(mean)
    assert [part.tolist() for part in state["average"]] == [[2.0, 2.0], [7.0, 7.0, 7.0]]
    assert state["shape"] == {"meant": True}
    with pytest.raises(ValueError, match="zip"):
        average_checkpoints([(tmp_path / name, 0.5) for name in ("after.pt", "before.pt")], tmp_path / "less.pt")


def test_averaged_weights_go_to_the_body_first_and_never_to_its_embeddings() -> None:
    network = ToyNetwork()
    embeddings = network.get_parameter("body.word_embeddings.weight").clone()
    load_average(network, {"average": [torch.full((2, 2), 5.0), torch.full((1, 2), 7.0)]})
    assert network.get_parameter("body.layer.weight").unique().tolist() == [5.0]
    assert network.head.weight.unique().tolist() == [7.0]
    assert torch.equal(network.get_parameter("body.word_embeddings.weight"), embeddings)


def test_weights_of_another_network_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        load_average(ToyNetwork(), {"average": [torch.zeros(2, 2)]})
