"""Trains the rewriter.

    python -m training.rewriter.train DATA --out DIR --cache MODELS [--resume]

DATA is the folder of the query-rewriting data sets, MODELS holds the prepared body (`python -m models.assets.prepare`).
DIR gets `words.json`, `checkpoint.pt` (every few minutes), `best.pt` (of the epoch that tuned best), `log.jsonl` and
`curve.png`. A run that was killed or suspended continues with `--resume`. Seeded; with two workers the order in
which they draw dropout differs from run to run.
On a GPU: `--device cuda --workers 1 --batch-tokens 16384 --batch-rows 64`.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from models.rewriter.decisions import KeepRule
from models.rewriter.network import RewriterNetwork, RewriterShape

from ..shared.data_sets import Part
from ..shared.learning_curve import Curve
from ..shared.loop import chosen_options, start, train_all, training_parser
from ..shared.run import Task
from .data import RewritingRow, find_sets, load_rows
from .examples import Example, chain_loss, collate_examples, frequent_words
from .labels import Limits
from .metrics import score_rewrites
from .mix import RewritingMix, RewritingOptions, RewritingShare
from .networks import LoadedRewriter, build

_WORDS = {True: (3, 24), False: (4, 72)}
"""Function words of a data set, by whether it is Chinese: least uses, most words."""

_TUNING_ROWS = 480


def main() -> None:
    """Runs or resumes the training."""
    parser = training_parser("Trains the rewriter.", "query-rewriting data sets", RewritingOptions)
    parser.add_argument("--words", type=Path, help="function words of an earlier run")
    arguments = start(parser)
    shares, tuning = _read(arguments)
    words = _words(arguments.out, arguments.words or arguments.out / "words.json", shares)
    shape = RewriterShape(words=len(words))
    rewriter = build(arguments.cache, words, shape, attention=arguments.attention)
    limits = Limits(deleted=shape.deleted, span=shape.span)
    options = chosen_options(RewritingOptions, arguments)
    mix = RewritingMix(shares, rewriter.reader, limits, options, seed=arguments.seed)
    train_all(
        rewriter.network,
        rewriting_task(mix, shape, rewriter.pad_id),
        lambda: _tune(rewriter, tuning),
        Curve(("place", "segment"), "EM", "exact match"),
        arguments=arguments,
    )


def rewriting_task(mix: RewritingMix, shape: RewriterShape, pad_id: int) -> Task[RewriterNetwork, Example]:
    """The task of a training run."""
    collate = partial(collate_examples, pad_id=pad_id, shape=shape)
    return Task(mix=mix, collate=collate, loss=chain_loss, shape=shape.model_dump())


def choose_words(sets: Sequence[tuple[Sequence[RewritingRow], bool]]) -> list[str]:
    """Function words of training rows, given with whether they are Chinese."""
    chosen: dict[str, None] = {}
    for rows, chinese in sets:
        least, most = _WORDS[chinese]
        chosen |= dict.fromkeys(frequent_words(rows, least=least, most=most))
    return list(chosen)


def _tune(rewriter: LoadedRewriter, tuning: Mapping[str, list[RewritingRow]]) -> dict[str, dict[str, float]]:
    scores = {}
    for name, rows in tuning.items():
        outputs = [rewritten.text(KeepRule()) for rewritten in rewriter.rewrite(rows)]
        measured = score_rewrites([row.query for row in rows], [row.target for row in rows], outputs)
        scores[name] = {
            measure: round(measured.value(measure), 2) for measure in ("EM", "BLEU-4", "F1", "F2", "unchanged F1")
        }
    return scores


def _read(arguments: argparse.Namespace) -> tuple[list[RewritingShare], dict[str, list[RewritingRow]]]:
    shares, tuning = [], {}
    try:
        sets = find_sets(arguments.sets)
    except ValueError as error:
        sys.exit(str(error))
    for data_set, weight in sets.items():
        parts = load_rows(arguments.data, data_set)
        shares.append(RewritingShare(parts[Part.TRAIN], weight, data_set.chinese))
        tuning[data_set.name] = parts[Part.TUNE][:_TUNING_ROWS]
    return shares, tuning


def _words(folder: Path, path: Path, shares: Sequence[RewritingShare]) -> list[str]:
    """Reads the function words of an earlier run, or chooses them from the training rows and saves them."""
    if path.exists():
        words = [str(word) for word in json.loads(path.read_text(encoding="utf-8"))]
    else:
        words = choose_words([(share.rows, share.chinese) for share in shares])
    (folder / "words.json").write_text(json.dumps(words, ensure_ascii=False), encoding="utf-8")
    return words


if __name__ == "__main__":
    main()
