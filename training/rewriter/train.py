"""Trains the rewriter.

    python -m training.rewriter.train DATA --out DIR --cache MODELS [--resume]

DATA is the folder of the query-rewriting data sets, MODELS holds the prepared body (`python -m
models.assets.prepare`). DIR
gets `words.json`, `checkpoint.pt` (every few minutes), `best.pt` (of the epoch that tuned best), `log.jsonl` and
`curve.png`. Killed or suspended at any time, the run goes on with `--resume`. Seeded; with two workers the order in
which they draw dropout differs from run to run.
On a GPU: `--device cuda --workers 1 --batch-tokens 16384 --batch-rows 64`.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from models.assets.compact_vocabulary import open_vocabulary
from models.body.edit_units import EditUnitTokenizer
from models.rewriter.decisions import KeepRule
from models.rewriter.features import FeatureReader
from models.rewriter.inference import rewrite_all
from models.rewriter.network import RewriterNetwork, RewriterShape

from ..shared.body import trainable_body
from ..shared.learning_curve import Curve
from ..shared.loop import chosen_options, prepare_torch, train_all, training_parser
from ..shared.run import RunOptions, Task, TrainingRun
from .data import Part, RewritingRow, find_sets, load_rows
from .examples import Example, collate_examples, frequent_words
from .labels import Limits
from .loss import chain_loss
from .metrics import score_rewrites
from .mix import Mix, MixOptions, Share

_WORDS = {
    True: (3, 24),
    False: (4, 72),
}  # function words of a data set, by whether it is Chinese: least uses, most words
_TUNING_ROWS = 480


def main() -> None:
    """Trains, or goes on training."""
    arguments = _arguments()
    prepare_torch()
    folder: Path = arguments.out
    folder.mkdir(parents=True, exist_ok=True)
    shares, tuning = _read(arguments)
    words = _words(folder, arguments.words or folder / "words.json", shares)
    attention = "eager" if arguments.device == "cpu" else "sdpa"
    network, reader, tokenizer = build(arguments.cache, words, RewriterShape(words=len(words)), attention=attention)
    limits = Limits(deleted=network.shape.deleted, span=network.shape.span)
    mix = Mix(shares, reader, limits, chosen_options(MixOptions, arguments), seed=arguments.seed)
    network.to(arguments.device)
    run = TrainingRun(
        network,
        rewriting_task(mix, network.shape, tokenizer.pad_id),
        options=chosen_options(RunOptions, arguments),
        folder=folder,
        seed=arguments.seed,
    )
    curve = Curve(("place", "segment"), "EM", "exact match")
    train_all(run, lambda: _tune(network, reader, tokenizer.pad_id, tuning), curve, arguments=arguments)


def rewriting_task(mix: Mix, shape: RewriterShape, pad_id: int) -> Task[RewriterNetwork, Example]:
    """What a run learns."""
    return Task(
        mix=mix,
        collate=partial(collate_examples, pad_id=pad_id, shape=shape),
        loss=chain_loss,
        shape=shape.model_dump(),
    )


def _tune(
    network: RewriterNetwork, reader: FeatureReader, pad_id: int, tuning: dict[str, list[RewritingRow]]
) -> dict[str, dict[str, float]]:
    scores = {}
    for name, rows in tuning.items():
        read = [reader.read(row.turns, row.query) for row in rows]
        outputs = [one.text(KeepRule()) for one in rewrite_all(network, read, pad_id=pad_id)]
        measured = score_rewrites([row.query for row in rows], [row.target for row in rows], outputs)
        scores[name] = {
            measure: round(measured.value(measure), 2) for measure in ("EM", "BLEU-4", "F1", "F2", "unchanged F1")
        }
    return scores


def build(
    cache: Path, words: list[str], shape: RewriterShape, *, attention: str = "sdpa", simplified: bool = False
) -> tuple[RewriterNetwork, FeatureReader, EditUnitTokenizer]:
    """An untrained network on the prepared body, and what reads text for it.

    Args:
        cache: Where prepared models are kept.
        words: Function words.
        shape: Of the heads.
        attention: See `load_body`.
        simplified: See `EditUnitTokenizer`; a training reads both scripts, what ships only this one.

    Raises:
        ModelUnavailable: The body cannot be prepared.
    """
    body, folder = trainable_body(cache, attention=attention)
    tokenizer = EditUnitTokenizer(open_vocabulary(folder, cache), simplified=simplified)
    return RewriterNetwork(body, shape), FeatureReader(tokenizer, words), tokenizer


def _read(arguments: argparse.Namespace) -> tuple[list[Share], dict[str, list[RewritingRow]]]:
    shares, tuning = [], {}
    try:
        sets = find_sets(arguments.sets)
    except ValueError as error:
        sys.exit(str(error))
    for data_set, weight in sets.items():
        parts = load_rows(arguments.data, data_set)
        shares.append(Share(parts[Part.TRAIN], weight, data_set.chinese))
        tuning[data_set.name] = parts[Part.TUNE][:_TUNING_ROWS]
    return shares, tuning


def _words(folder: Path, path: Path, shares: list[Share]) -> list[str]:
    """The function words: those of an earlier run, or chosen from the training rows and kept."""
    if path.exists():
        words = [str(word) for word in json.loads(path.read_text(encoding="utf-8"))]
    else:
        words = choose_words([(share.rows, share.chinese) for share in shares])
    (folder / "words.json").write_text(json.dumps(words, ensure_ascii=False), encoding="utf-8")
    return words


def choose_words(sets: Sequence[tuple[Sequence[RewritingRow], bool]]) -> list[str]:
    """Function words of training rows, given with whether they are Chinese."""
    chosen: dict[str, None] = {}
    for rows, chinese in sets:
        least, most = _WORDS[chinese]
        chosen |= dict.fromkeys(frequent_words(rows, least=least, most=most))
    return list(chosen)


def _arguments() -> argparse.Namespace:
    parser = training_parser("Trains the rewriter.", "query-rewriting data sets", MixOptions)
    parser.add_argument("--words", type=Path, help="function words of an earlier run")
    return parser.parse_args()


if __name__ == "__main__":
    main()
