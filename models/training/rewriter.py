"""Trains the rewriter.

    python -m models.training.rewriter DATA --out DIR --cache MODELS [--resume]

DATA is the folder of the query-rewriting data sets, MODELS holds the prepared body (`python -m models.prepare`). DIR
gets `words.json`, `checkpoint.pt` (every few minutes), `log.jsonl` and `curve.png`. Killed or suspended at any time,
the run goes on with `--resume`. Seeded; with two workers the order in which they draw dropout differs from run to run.
On a GPU: `--device cuda --workers 1 --batch-tokens 16384 --batch-rows 64`.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from models.catalog import DEFAULT_MODEL
from models.prepare import prepare_model
from models.rewriter.decoding import KeepRule
from models.rewriter.features import FeatureReader
from models.rewriter.inference import rewrite_all
from models.rewriter.network import NetworkShape, RewriterNetwork, load_body
from models.rewriter.units import UnitTokenizer

from .labels import Limits
from .learning_curve import draw_curve
from .rewriter_examples import frequent_words
from .rewriter_mix import Mix, MixOptions, Share
from .rewriter_run import RunOptions, TrainingRun
from .rewriting_data import Part, RewritingRow, find_sets, load_rows
from .rewriting_metrics import score_rewrites

_WORDS = {
    True: (3, 24),
    False: (4, 72),
}  # function words of a data set, by whether it is Chinese: least uses, most words
_TUNING_ROWS = 480


def main() -> None:
    """Trains, or goes on training."""
    arguments = _arguments()
    import torch

    torch.set_num_threads(1)  # see RunOptions.workers
    torch.set_flush_denormal(True)
    folder: Path = arguments.out
    folder.mkdir(parents=True, exist_ok=True)
    console = Console(stderr=True)
    shares, tuning = _read(arguments)
    words = _words(folder, arguments.words or folder / "words.json", shares)
    attention = "eager" if arguments.device == "cpu" else "sdpa"
    network, reader, tokenizer = build(arguments.cache, words, NetworkShape(words=len(words)), attention=attention)
    mix = Mix(
        shares,
        reader,
        Limits(deleted=network.shape.deleted, span=network.shape.span),
        _options(MixOptions, arguments),
        seed=arguments.seed,
    )
    options = _options(RunOptions, arguments)
    network.to(arguments.device)
    run = TrainingRun(network, mix, pad_id=tokenizer.pad_id, options=options, folder=folder, seed=arguments.seed)
    if arguments.resume and (folder / "checkpoint.pt").exists():
        run.resume(folder / "checkpoint.pt")
    elif arguments.start:
        run.resume(arguments.start, weights_only=True)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.1f}%"), TimeElapsedColumn(),
        console=console, disable=not console.is_terminal,
    )  # fmt: skip
    with bar:
        task = bar.add_task("training", total=1.0)
        while run.progress < 1.0:
            _train(run, bar, task)
            scores = _tune(run, reader, tokenizer.pad_id, tuning)
            run.log({"step": run.step, "epoch": run.epoch, "tune": scores})
            draw_curve(folder / "log.jsonl", folder / "curve.png")


def _train(run: TrainingRun, bar: Progress, task: Any) -> None:
    started = time.monotonic()
    sums = {"place": 0.0, "segment": 0.0, "rows": 0.0, "tokens": 0.0}
    for losses in run.train_epoch():
        for name in ("place", "segment"):
            sums[name] += losses[name] * losses["rows"]
        sums["rows"] += losses["rows"]
        sums["tokens"] += losses["tokens"]
        bar.update(task, completed=run.progress, description=f"step {run.step}")
        if run.step % 20 == 0:
            elapsed = time.monotonic() - started
            run.log(
                {
                    "step": run.step,
                    "progress": round(run.progress, 4),
                    "place": round(sums["place"] / sums["rows"], 4),
                    "segment": round(sums["segment"] / sums["rows"], 4),
                    "tokens_per_s": round(sums["tokens"] / elapsed, 1),
                }
            )
            started, sums = time.monotonic(), dict.fromkeys(sums, 0.0)


def _tune(
    run: TrainingRun, reader: FeatureReader, pad_id: int, tuning: dict[str, list[RewritingRow]]
) -> dict[str, dict[str, float]]:
    """Scores of the averaged weights on the tuning rows."""
    kept = [master.detach().clone() for master in run.weights.masters]
    run.weights.load(run.weights.average)
    scores = {}
    for name, rows in tuning.items():
        read = [reader.read(row.turns, row.query) for row in rows]
        outputs = [one.text(KeepRule()) for one in rewrite_all(run.network, read, pad_id=pad_id)]
        measured = score_rewrites([row.query for row in rows], [row.target for row in rows], outputs)
        scores[name] = {
            measure: round(measured.value(measure), 2) for measure in ("EM", "BLEU-4", "F1", "F2", "unchanged F1")
        }
    run.weights.load(kept)
    return scores


def build(
    cache: Path, words: list[str], shape: NetworkShape, *, attention: str = "sdpa"
) -> tuple[RewriterNetwork, FeatureReader, UnitTokenizer]:
    """An untrained network on the prepared body, and what reads text for it.

    Args:
        cache: Where prepared models are kept.
        words: Function words.
        shape: Of the heads.
        attention: See `load_body`.

    Raises:
        ModelUnavailable: The body cannot be prepared.
    """
    from tokenizers import Tokenizer

    folder = prepare_model(DEFAULT_MODEL, cache)
    tokenizer = UnitTokenizer(Tokenizer.from_file(str(folder / "tokenizer.json")))
    body = load_body(str(folder), attention=attention)
    for layer in body.encoder.layer:
        layer.attention.self.dropout.p = 0.0  # of little use in fine-tuning, and dear on a CPU
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


def _options(kind: type[Any], arguments: argparse.Namespace) -> Any:
    given = vars(arguments)
    return kind(**{one.name: given[one.name] for one in fields(kind) if given.get(one.name) is not None})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains the rewriter.")
    parser.add_argument("data", type=Path, help="folder of the query-rewriting data sets")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True, help="folder in which prepared models are kept")
    parser.add_argument("--sets", default="all", help="all, open, or names, each with :weight if not 1")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--resume", action="store_true", help="go on from DIR/checkpoint.pt, if it is there")
    parser.add_argument("--start", type=Path, help="a checkpoint whose averaged weights a new run starts from")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--words", type=Path, help="function words of an earlier run")
    for kind in (RunOptions, MixOptions):
        for one in fields(kind):
            parser.add_argument(f"--{one.name.replace('_', '-')}", type=one.type)
    return parser.parse_args()


if __name__ == "__main__":
    main()
