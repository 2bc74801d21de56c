"""Writes the reranker's weight file that ships, from a checkpoint of training or untrained.

python -m training.reranker.export POOLS --checkpoint FILE|untrained --cache MODELS --out FILE.safetensors
"""

import sys
from collections.abc import Sequence

import numpy as np

from models.assets.catalog import DEFAULT_MODEL
from models.assets.prepare import prepare_model
from models.reranker.network import RerankerSettings

from ..shared.data_sets import Part
from ..shared.recipes import export_parser
from ..shared.weight_files import save_weights
from .networks import load_checkpoint
from .pools import read_pools

_TEMPERATURES = tuple(float(temperature) for temperature in np.geomspace(0.25, 8.0, 41))
_TUNING_QUESTIONS = 60
_CANDIDATES = 10


def choose_temperature(logits: Sequence[float], gold: Sequence[bool]) -> float:
    """Chooses the divisor of logits (temperature) with the least cross-entropy on tuning pairs."""
    truth = np.array(gold, np.float64)

    def loss(temperature: float) -> float:
        scaled = np.array(logits, np.float64) / temperature
        return float(np.mean(np.logaddexp(0.0, scaled) - truth * scaled))

    return min(_TEMPERATURES, key=loss)


def main() -> None:
    """Fits the temperature on the tuning part, and writes the file."""
    arguments = export_parser("pools").parse_args()
    reranker = load_checkpoint(arguments.checkpoint, arguments.cache)
    logits: list[float] = []
    gold: list[bool] = []
    tuning = list(read_pools(arguments.data / "pools.jsonl", Part.TUNE))
    for pool in tuning[:: max(1, len(tuning) // _TUNING_QUESTIONS)]:
        candidates = pool.candidates[:_CANDIDATES]
        logits += reranker.logits(pool.question, [hit.text for hit in candidates])
        gold += [hit.gold for hit in candidates]
    settings = RerankerSettings(
        shape=reranker.network.shape, temperature=choose_temperature(logits, gold), body=DEFAULT_MODEL
    )
    size = save_weights(arguments.out, reranker.network, settings, prepare_model(DEFAULT_MODEL, arguments.cache))
    sys.stdout.write(f"{arguments.out}: {size / 1e6:.2f} MB, temperature {settings.temperature:.2f}\n")


if __name__ == "__main__":
    main()
