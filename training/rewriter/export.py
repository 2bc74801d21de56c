"""Writes the weight file that ships, from a checkpoint of training.

python -m training.rewriter.export DATA --checkpoint FILE --cache MODELS --out FILE.safetensors
"""

import argparse
import copy
import json
import sys
from pathlib import Path

from models.assets.catalog import DEFAULT_MODEL
from models.assets.prepare import prepare_model
from models.rewriter.decisions import RewriterSettings
from models.rewriter.inference import rewrite_all

from ..shared.weight_files import save_weights
from .data import Part, find_sets, load_rows
from .evaluate import load_checkpoint
from .keeping import choose_rule


def main() -> None:
    """Chooses the rule for leaving a query alone on the tuning rows, and writes the file."""
    parser = argparse.ArgumentParser(description="Writes the weight file that ships, from a checkpoint of training.")
    parser.add_argument("data", type=Path, help="folder of the query-rewriting data sets")
    parser.add_argument("--checkpoint", type=Path, required=True, help="words.json lies beside it")
    parser.add_argument("--cache", type=Path, required=True, help="folder in which prepared models are kept")
    parser.add_argument("--sets", default="all", help="whose tuning rows choose the rule")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    import torch

    from models.body.gate import has_fast_bf16

    torch.set_num_threads(arguments.threads)
    network, reader, pad_id = load_checkpoint(arguments.checkpoint, arguments.cache)
    words = json.loads((arguments.checkpoint.parent / "words.json").read_text(encoding="utf-8"))
    tuning = [row for one in find_sets(arguments.sets) for row in load_rows(arguments.data, one)[Part.TUNE]]
    served = copy.deepcopy(network)
    if has_fast_bf16():
        served.body.to(dtype=torch.bfloat16)
    features = [reader.read(row.turns, row.query) for row in tuning]
    rule = choose_rule(tuning, rewrite_all(served, features, pad_id=pad_id))
    settings = RewriterSettings(shape=network.shape, words=tuple(words), rule=rule, body=DEFAULT_MODEL)
    size = save_weights(arguments.out, network, settings, prepare_model(DEFAULT_MODEL, arguments.cache))
    sys.stdout.write(f"{arguments.out}: {size / 1e6:.2f} MB, {rule}\n")


if __name__ == "__main__":
    main()
