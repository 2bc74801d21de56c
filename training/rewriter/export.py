"""Writes the weight file that ships, from a checkpoint of training.

python -m training.rewriter.export DATA --checkpoint FILE --cache MODELS --out FILE.safetensors
"""

import copy
import json
import sys

from models.assets.catalog import DEFAULT_MODEL
from models.assets.prepare import prepare_model
from models.rewriter.decisions import RewriterSettings

from ..shared.data_sets import Part
from ..shared.recipes import export_parser
from ..shared.weight_files import save_weights
from .data import find_sets, load_rows
from .keeping import choose_rule
from .networks import LoadedRewriter, load_checkpoint


def main() -> None:
    """Chooses the rule for leaving a query alone on the tuning rows, and writes the file."""
    parser = export_parser("query-rewriting data sets")
    parser.add_argument("--sets", default="all", help="whose tuning rows choose the rule")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    import torch

    from models.body.gate import has_fast_bf16

    torch.set_num_threads(arguments.threads)
    rewriter = load_checkpoint(arguments.checkpoint, arguments.cache)
    words = json.loads((arguments.checkpoint.parent / "words.json").read_text(encoding="utf-8"))
    tuning = [row for data_set in find_sets(arguments.sets) for row in load_rows(arguments.data, data_set)[Part.TUNE]]
    served = copy.deepcopy(rewriter.network)
    if has_fast_bf16():
        served.body.to(dtype=torch.bfloat16)
    rule = choose_rule(tuning, LoadedRewriter(served, rewriter.reader, rewriter.pad_id).rewrite(tuning))
    settings = RewriterSettings(shape=rewriter.network.shape, words=tuple(words), rule=rule, body=DEFAULT_MODEL)
    size = save_weights(arguments.out, rewriter.network, settings, prepare_model(DEFAULT_MODEL, arguments.cache))
    sys.stdout.write(f"{arguments.out}: {size / 1e6:.2f} MB, {rule}\n")


if __name__ == "__main__":
    main()
