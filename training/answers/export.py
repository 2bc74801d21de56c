"""Writes the weight file that ships, from a checkpoint of training.

python -m training.answers.export CORPUS --corpus FOLDER … --checkpoint FILE --cache MODELS --out FILE.safetensors

With `--documents` it is calibrated on excerpts of documents, and else on lines of conversation.
"""

import copy
import sys
from pathlib import Path

from models.assets.catalog import DEFAULT_MODEL
from models.assets.prepare import prepare_model

from ..corpora.questions import read_answers, read_scenarios
from ..shared.data_sets import Part
from ..shared.recipes import export_parser
from ..shared.weight_files import save_weights
from .calibration import tuned_settings
from .networks import LoadedAnswerReader, load_checkpoint
from .rows import rows_of


def main() -> None:
    """Calibrates on the tuning rows, and writes the file."""
    parser = export_parser("chat corpus")
    parser.add_argument("--corpus", type=Path, nargs="*", default=(), help="further folders of chat corpora")
    parser.add_argument("--documents", action="store_true", help="for the reader of documents")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    import torch

    from models.body.gate import has_fast_bf16

    torch.set_num_threads(arguments.threads)
    loaded = load_checkpoint(arguments.checkpoint, arguments.cache)
    served = copy.deepcopy(loaded.network)
    if has_fast_bf16():
        served.body.to(dtype=torch.bfloat16)
    corpora = [arguments.data, *arguments.corpus]
    blocks = [*read_answers(corpora, Part.TUNE), *read_scenarios(corpora, Part.TUNE)]
    rows = rows_of([block for block in blocks if block.source.is_document is arguments.documents])
    readings = LoadedAnswerReader(served, loaded.reader, loaded.pad_id, loaded.settings).read(
        [row.request for row in rows]
    )
    settings = tuned_settings(loaded.settings, rows, readings)
    size = save_weights(arguments.out, loaded.network, settings, prepare_model(DEFAULT_MODEL, arguments.cache))
    chosen = settings.model_dump_json(include={"unanswered", "answers", "outdated"})
    sys.stdout.write(f"{arguments.out}: {size / 1e6:.2f} MB\n{chosen}\n")


if __name__ == "__main__":
    main()
