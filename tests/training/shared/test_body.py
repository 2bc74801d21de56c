import pytest
import torch
from torch import nn

from training.shared.body import PooledDropout, pool_dropouts


def test_pooled_dropout_drops_its_share_and_keeps_the_mean() -> None:
    dropout = PooledDropout(0.25)
    states = torch.ones(200, 500)
    dropped = dropout(states)
    assert (dropped == 0).float().mean().item() == pytest.approx(0.25, abs=0.01)
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.02)
    assert not torch.equal(dropped, dropout(states))
    assert torch.equal(dropout.eval()(states), states)


def test_dropouts_of_one_probability_share_their_noise() -> None:
    network = nn.Sequential(nn.Dropout(0.1), nn.Sequential(nn.Dropout(0.1), nn.Dropout(0.2)), nn.Linear(2, 2))
    pool_dropouts(network)
    pooled = [module for module in network.modules() if isinstance(module, PooledDropout)]
    assert sorted(module.p for module in pooled) == [0.1, 0.2]  # modules() names the shared one once
    assert not any(isinstance(module, nn.Dropout) for module in network.modules())
