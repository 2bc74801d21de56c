"""Writes the reranker's weight file that ships, from a checkpoint of training or untrained.

python -m training.reranker.export POOLS --checkpoint FILE|untrained --cache MODELS --out FILE.safetensors
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from models.assets.catalog import DEFAULT_MODEL
from models.assets.prepare import prepare_model
from models.reranker.network import RerankerSettings, RerankerShape
from models.reranker.scoring import score_all

from ..shared.weight_files import save_weights
from .evaluate import UNTRAINED, load_checkpoint
from .pools import Part, read_pools
from .train import build

_TEMPERATURES = tuple(float(one) for one in np.geomspace(0.25, 8.0, 41))
_TUNING_QUESTIONS = 60
_CANDIDATES = 10


def choose_temperature(logits: Sequence[float], gold: Sequence[bool]) -> float:
    """What logits are divided by so that they are probabilities: the least cross-entropy on tuning pairs."""
    truth = np.array(gold, np.float64)

    def loss(temperature: float) -> float:
        scaled = np.array(logits, np.float64) / temperature
        return float(np.mean(np.logaddexp(0.0, scaled) - truth * scaled))

    return min(_TEMPERATURES, key=loss)


def main() -> None:
    """Fits the temperature on the tuning part, and writes the file."""
    parser = argparse.ArgumentParser(description="Writes the weight file that ships, from a checkpoint of training.")
    parser.add_argument("pools", type=Path, help="folder with pools.jsonl")
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True, help="folder in which prepared models are kept")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    if arguments.checkpoint == UNTRAINED:
        network, reader, pad_id = build(arguments.cache, RerankerShape())
    else:
        network, reader, pad_id = load_checkpoint(arguments.checkpoint, arguments.cache)
    logits: list[float] = []
    gold: list[bool] = []
    tuning = list(read_pools(arguments.pools / "pools.jsonl", Part.TUNE))
    for pool in tuning[:: max(1, len(tuning) // _TUNING_QUESTIONS)]:
        candidates = pool.candidates[:_CANDIDATES]
        pairs = reader.read(pool.question, [one.text for one in candidates])
        logits += score_all(network, pairs, pad_id=pad_id)
        gold += [one.gold for one in candidates]
    settings = RerankerSettings(shape=network.shape, temperature=choose_temperature(logits, gold), body=DEFAULT_MODEL)
    size = save_weights(arguments.out, network, settings, prepare_model(DEFAULT_MODEL, arguments.cache))
    sys.stdout.write(f"{arguments.out}: {size / 1e6:.2f} MB, temperature {settings.temperature:.2f}\n")


if __name__ == "__main__":
    main()
