"""The network of the reranker, small, and how it is run."""

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel

from models.reranker.network import STRETCH, RerankerNetwork, RerankerShape, asked_tokens, pad
from models.reranker.pairs import PairTokens
from models.reranker.scoring import score_all, token_vectors


@pytest.fixture
def network() -> RerankerNetwork:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=60,
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=256,
    )
    return RerankerNetwork(BertModel(config, add_pooling_layer=False), RerankerShape(hidden=32, layers=2))


def pairs(count: int = 7) -> list[PairTokens]:
    draw = np.random.default_rng(1)
    queries = [draw.integers(4, 60, 5 + number) for number in range(2)]
    return [PairTokens(queries[number % 2], draw.integers(4, 60, 3 + 5 * (number % 4)), 2) for number in range(count)]


def test_layers_that_are_not_used_are_gone(network: RerankerNetwork) -> None:
    assert len(network.body.encoder.layer) == 2  # type: ignore[union-attr, arg-type]


def test_the_score_is_the_mean_of_the_best_cosine_of_each_token_that_is_asked_for(network: RerankerNetwork) -> None:
    network.eval()
    [pair] = pairs(1)
    query, passage = (
        network.body(torch.from_numpy(ids)[None]).last_hidden_state[0] for ids in (pair.query, pair.passage)
    )
    cosines = torch.cosine_similarity(query[2:-1, None], passage[None], dim=-1)
    expected = 20 * cosines.max(dim=1).values.mean() - 14
    np.testing.assert_allclose(score_all(network, [pair], pad_id=1)[0], expected.item(), atol=0.02)


def test_of_a_long_passage_the_best_stretch_counts(network: RerankerNetwork) -> None:
    asked = torch.eye(4, 32)
    near, apart = torch.zeros(2, 3 * STRETCH, 32)
    near[5:9], apart[[0, STRETCH - 1, 2 * STRETCH - 2, 3 * STRETCH - 3]] = asked, asked
    passages = torch.stack([near, apart])[None]  # (queries, passages, passage tokens, hidden)
    [logits] = network.match(asked[None], torch.ones(1, 4), passages, torch.ones(1, 2, 3 * STRETCH))
    assert logits.tolist() == pytest.approx([20.0 - 14.0, 20.0 * 0.5 - 14.0])


def test_a_token_can_weigh_more_than_another(network: RerankerNetwork) -> None:
    before = score_all(network, pairs(), pad_id=1)
    torch.nn.init.normal_(network.weigh.weight)
    assert score_all(network, pairs(), pad_id=1) != pytest.approx(before)


def test_padding_and_company_change_nothing(network: RerankerNetwork) -> None:
    torch.nn.init.normal_(network.weigh.weight)
    network.train()
    together = score_all(network, pairs(), pad_id=1)
    alone = [score_all(network, [pair], pad_id=1)[0] for pair in pairs()]
    np.testing.assert_allclose(together, alone, atol=0.02)
    assert network.training


def test_no_pairs_have_no_scores(network: RerankerNetwork) -> None:
    assert score_all(network, [], pad_id=1) == []


def test_a_text_that_was_read_is_not_read_again(network: RerankerNetwork, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = token_vectors()
    first = score_all(network, pairs(), pad_id=1, cache=cache)
    monkeypatch.delattr(RerankerNetwork, "encode")
    assert score_all(network, pairs(), pad_id=1, cache=cache) == first


def test_the_vectors_of_the_texts_that_were_read_longest_ago_are_dropped_first() -> None:
    cache = token_vectors(max_tokens=6)
    for key in (b"first", b"second", b"third"):
        cache[key] = torch.zeros(3, 2)
    assert set(cache) == {b"second", b"third"}


def test_neither_the_prefix_nor_the_end_is_looked_for() -> None:
    assert asked_tokens(np.arange(6), 3).tolist() == [0, 0, 0, 1, 1, 0]
    assert asked_tokens(np.arange(4), 3).tolist() == [1, 1, 1, 1]


def test_texts_are_padded_behind_their_end() -> None:
    batch = pad([np.array([5, 6]), np.array([7])], pad_id=1)
    assert batch["input_ids"].tolist() == [[5, 6], [7, 1]]
    assert batch["attention_mask"].tolist() == [[1, 1], [1, 0]]
