"""Trains the answer reader.

    python -m training.answers.train --corpus FOLDER … --out DIR --cache MODELS [--start CHECKPOINT] [--resume]

Each FOLDER is a chat corpus (`answers` and `scenarios` inside), MODELS holds the prepared body. A new run starts from
the body of the reader (`--reader`, by default the one that ships), or from an answer reader (`--weights`). DIR gets
`checkpoint.pt` (every few minutes), `best.pt` (of the epoch that tuned best), `log.jsonl` and `curve.png`. A run that
was killed continues with `--resume`.
With `--documents` it learns from public questions about documents, too.
On a GPU: `--device cuda --workers 1 --batch-tokens 16384 --batch-rows 64`.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from models.answers.network import AnswerShape
from models.assets.weight_files import shipped_weight_file

from ..corpora.questions import read_answers, read_scenarios
from ..shared.data_sets import Part
from ..shared.learning_curve import Curve
from ..shared.loop import chosen_options, start, train_all, training_parser
from ..shared.run import Task
from .examples import LabelledRequest
from .losses import answer_loss, collate_examples
from .marked_requests import Kind, read_marked
from .metrics import scores
from .mix import AnswerMix, AnswerOptions
from .networks import LoadedAnswerReader, build, take_all, take_body
from .passages import read_passages
from .rows import rows_of

_TUNING_ROWS = 300
_MEASURES = ("answerable right", "unanswerable right", "all right", "words right", "outdated right")


def main() -> None:
    """Runs or resumes the training."""
    parser = training_parser("Trains the answer reader.", "chat corpus, one more than --corpus", AnswerOptions)
    parser.add_argument("--corpus", type=Path, nargs="*", default=(), help="further folders of chat corpora")
    parser.add_argument("--documents", type=Path, help="folder of data with passages, see passages.py; none by default")
    parser.add_argument("--reader", type=Path, default=shipped_weight_file("reader"), help="a reader's weight file")
    parser.add_argument("--weights", type=Path, help="an answer reader's weight file, to start from in its place")
    arguments = start(parser)
    options = chosen_options(AnswerOptions, arguments)
    kinds = [kind for kind in Kind if options.often(kind)]
    shape = AnswerShape().model_copy(update=dict.fromkeys(kinds, True))
    loaded = build(arguments.cache, shape=shape, attention=arguments.attention)
    if arguments.weights is None:
        take_body(loaded.network, arguments.reader)
    else:
        take_all(loaded.network, arguments.weights)
    corpora = [arguments.data, *arguments.corpus]
    blocks = [*read_answers(corpora, Part.TRAIN), *read_scenarios(corpora, Part.TRAIN)]
    if arguments.documents is not None:
        blocks += read_passages(arguments.documents, Part.TRAIN)
    messages = [message for kind in kinds for message in read_marked(corpora, kind, Part.TRAIN)]
    mix = AnswerMix(blocks, loaded.reader, options, seed=arguments.seed, messages=messages)
    collate = partial(collate_examples, pad_id=loaded.pad_id)
    task = Task(mix=mix, collate=collate, loss=answer_loss, shape=shape.model_dump())
    tuned = rows_of(read_answers(corpora, Part.TUNE))
    tune = partial(_tune, loaded, tuned[:: max(1, len(tuned) // _TUNING_ROWS)])
    train_all(loaded.network, task, tune, Curve(("line", "words"), "right", "right"), arguments=arguments)


def _tune(loaded: LoadedAnswerReader, rows: Sequence[LabelledRequest]) -> Mapping[str, Mapping[str, float]]:
    """Scores on tuning rows; nothing is calibrated yet."""
    found = scores(rows, loaded.read([row.request for row in rows]))
    return {measure: {"right": found[measure]} for measure in _MEASURES}


if __name__ == "__main__":
    main()
