"""Writes the weight file that ships, from a checkpoint of training.

python -m training.reader.export --corpus FOLDER … --checkpoint FILE --cache MODELS --out FILE.safetensors
"""

import argparse
import copy
import sys
from pathlib import Path

from models.assets.catalog import DEFAULT_MODEL
from models.assets.prepare import prepare_model

from ..shared.data_sets import Part
from ..shared.weight_files import save_weights
from .calibration import OPEN_THRESHOLDS, TunedMessage, TunedQuery, tuned_settings
from .corpus import read_messages, read_queries
from .examples import request_of
from .networks import LoadedReader, load_checkpoint


def main() -> None:
    """Calibrates on the tuning rows, and writes the file."""
    parser = argparse.ArgumentParser(description="Writes the weight file that ships, from a checkpoint of training.")
    parser.add_argument("--corpus", type=Path, nargs="+", required=True, help="folders of chat corpora")
    parser.add_argument("--checkpoint", type=Path, required=True, help="the files of its run lie beside it")
    parser.add_argument("--cache", type=Path, required=True, help="folder of prepared models")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    import torch

    from models.body.gate import has_fast_bf16

    torch.set_num_threads(arguments.threads)
    loaded = load_checkpoint(arguments.checkpoint, arguments.cache)
    served = copy.deepcopy(loaded.network)
    if has_fast_bf16():
        served.body.to(dtype=torch.bfloat16)
    opened = loaded.settings.model_copy(update={"thresholds": OPEN_THRESHOLDS})
    reader = LoadedReader(served, loaded.reader, loaded.pad_id, opened)
    queries = read_queries(arguments.corpus, Part.TUNE)
    messages = read_messages(arguments.corpus, Part.TUNE)
    read = reader.find([request_of(query.query, query.turns) for query in queries])
    stated = reader.find([request_of(row.text, row.turns) for row in messages])
    settings = tuned_settings(
        loaded.settings,
        [TunedQuery(query, windows[0]) for query, windows in zip(queries, read, strict=True)],
        [TunedMessage(message, windows) for message, windows in zip(messages, stated, strict=True)],
    )
    size = save_weights(arguments.out, loaded.network, settings, prepare_model(DEFAULT_MODEL, arguments.cache))
    sys.stdout.write(f"{arguments.out}: {size / 1e6:.2f} MB\n{settings.model_dump_json(include=_CHOSEN)}\n")


_CHOSEN = {"thresholds", "keep", "ask", "edit"}

if __name__ == "__main__":
    main()
