import torch
from torch import Tensor, nn

from models.body.edit_units import Place
from models.body.network_parts import WordEmbedding

WORDS = torch.tensor([[0.0, 0.0], [1.0, 2.0], [10.0, 20.0], [100.0, 200.0]])


class Body(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embeddings = nn.Module()
        self.embeddings.word_embeddings = nn.Embedding.from_pretrained(WORDS)


def embed(tokens: list[int], covers: list[tuple[int, Place]], gate: Tensor | None = None) -> list[list[float]]:
    network = WordEmbedding(2)
    if gate is not None:
        network.gate.weight.data = gate
    scores: list[list[float]] = network(Body(), torch.tensor([tokens]), torch.tensor([covers]))[0].tolist()
    return scores


def test_a_token_that_stands_alone_is_embedded_as_the_body_does() -> None:
    assert embed([1, 2], [(3, Place.ALONE), (0, Place.ALONE)]) == WORDS[1:3].tolist()


def test_a_token_inside_a_word_gets_half_of_the_word_before_training() -> None:
    assert embed([1, 2], [(3, Place.FIRST), (3, Place.LAST)]) == [[51.0, 102.0], [60.0, 120.0]]


def test_each_place_in_a_word_has_a_share_of_its_own() -> None:
    gate = torch.tensor([[9.0, 9.0], [0.0, 1.0], [1.0, 0.0], [0.5, 0.0]])
    places = [(3, Place.FIRST), (3, Place.INSIDE), (3, Place.LAST)]
    assert embed([0, 0, 0], places, gate) == [[0.0, 200.0], [100.0, 0.0], [50.0, 0.0]]


def test_shares_are_learned_only_for_places_that_occur() -> None:
    network = WordEmbedding(2)
    network(Body(), torch.tensor([[1, 2]]), torch.tensor([[(3, Place.FIRST), (3, Place.ALONE)]])).sum().backward()
    assert network.gate.weight.grad is not None
    assert network.gate.weight.grad.tolist() == [[0.0, 0.0], [100.0, 200.0], [0.0, 0.0], [0.0, 0.0]]
