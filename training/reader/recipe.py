"""Trains the reader that ships, from the data folders to the weight file, by one command.

    python -m training.reader.recipe DATA --corpus FOLDER … --out DIR --cache MODELS --weights FILE.safetensors

One stage after the other, each as `training.reader.train` would be called by hand; killed at any time, the same command
continues where it stopped. With `--start CHECKPOINT` the first stage begins with those weights: what ships began with
the weights of the tagger and the rewriter that it replaced (see the model card); without it, with the prepared body,
which needs about four times the epochs. On a GPU `--device cuda`. With `--sets open` only data sets are read whose
licence allows any use.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..shared.checkpoints import average_checkpoints
from ..shared.recipes import device_options, recipe_parser, run_module

_LATER = ("--messages", "1.5", "--batch-tokens", "1100")

STAGES = (
    ("first", ("--epochs", "1")),
    ("second", ("--epochs", "1.6")),
    ("third", ("--epochs", "3.4", "--cooldown", "0.75", *_LATER)),
    (
        "last",
        (
            *("--epochs", "0.55", "--cooldown", "1", "--warmup", "30", "--body-rate", "1e-4", "--head-rate", "6e-4"),
            *("--ambiguous", "3", *_LATER),
        ),
    ),
    (
        "messages",
        (
            *("--epochs", "2.15", "--cooldown", "0.8", "--body-rate", "1.5e-4", "--head-rate", "8e-4"),
            *("--messages", "2.6", "--unrelated", "0.5", "--queries", "0.8", "--ambiguous", "2.5"),
            *("--rewriting", "0.05", "--names", "0.08", "--batch-tokens", "1100"),
        ),
    ),
    (
        "plain",
        (
            *("--epochs", "0.75", "--cooldown", "1", "--warmup", "30", "--body-rate", "1e-4", "--head-rate", "6e-4"),
            *("--messages", "2", "--queries", "0.6", "--ambiguous", "2.5"),
            *("--rewriting", "0.04", "--names", "0.05", "--batch-tokens", "1100"),
        ),
    ),
)
"""Names of the stages with their options."""
TAUGHT = ("last", "messages", "plain")
"""Stages before which a file is written that teaches them what queries are for, which the corpora mark of messages
only."""
SHIPPED = (("second", 0.35), ("messages", 0.15), ("plain", 0.5))
"""The stages whose weights are averaged in the file: the last one alone asks back less often where it should, and finds
fewer names behind other turns."""


def main() -> None:
    """Trains every stage and exports the last one."""
    parser = recipe_parser("Trains the reader that ships.", "public data sets")
    parser.add_argument("--corpus", type=Path, nargs="+", required=True, help="folders of chat corpora")
    parser.add_argument("--chat-names", type=Path, help="a hand-labelled set whose names the chat templates leave out")
    parser.add_argument("--start", type=Path, help="a checkpoint with the words of its run beside it")
    arguments = parser.parse_args()
    start: Path | None = arguments.start
    corpora: list[Any] = ["--corpus", *arguments.corpus]
    for name, options in STAGES:
        folder: Path = arguments.out / name
        given: list[Any] = ["--out", folder, "--cache", arguments.cache, "--sets", arguments.sets, *options, "--resume"]
        if arguments.chat_names is not None:
            given += ["--chat-names", arguments.chat_names]
        given += device_options(arguments.device, batch_rows=128)
        if start is not None:
            given += ["--start", start, "--words", start.parent / "words.json"]
        if name in TAUGHT:
            teacher = folder / "teacher.safetensors"
            _export(start, teacher, arguments.cache, corpora)
            given += ["--teacher", teacher]
        run_module("reader.train", arguments.data, *corpora, *given)
        start = folder / "checkpoint.pt"
    shipped = folder / "shipped.pt"
    average_checkpoints([(arguments.out / name / "checkpoint.pt", share) for name, share in SHIPPED], shipped)
    _export(shipped, arguments.weights, arguments.cache, corpora)


def _export(checkpoint: Path | None, weights: Path, cache: Path, corpora: Sequence[Any]) -> None:
    run_module("reader.export", *corpora, "--checkpoint", checkpoint, "--cache", cache, "--out", weights)


if __name__ == "__main__":
    main()
