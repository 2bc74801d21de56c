"""Trains the reader that ships, from the data folders to the weight file, by one command.

    python -m training.reader.recipe DATA --corpus FOLDER … --out DIR --cache MODELS --weights FILE.safetensors

One stage after the other, each as `training.reader.train` would be called by hand; killed at any time, the same command
continues where it stopped. With `--start CHECKPOINT` the first stage begins with those weights: what ships began with
the weights of the tagger and the rewriter that it replaced (see the model card); without it, with the prepared body,
which needs about four times the epochs. On a GPU `--device cuda`. With `--sets open` only data sets are read whose
licence allows any use.
"""

from pathlib import Path
from typing import Any

from ..shared.recipes import device_options, recipe_parser, run_module

STAGES = (
    ("first", ("--epochs", "2.2", "--cooldown", "0.2")),
    ("last", ("--epochs", "2.4", "--cooldown", "0.6", "--body-rate", "1.5e-4", "--head-rate", "8e-4")),
)
"""Names of the stages with their options."""


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
        run_module("reader.train", arguments.data, *corpora, *given)
        start = folder / "checkpoint.pt"
    run_module("reader.export", *corpora, "--checkpoint", start, "--cache", arguments.cache, "--out", arguments.weights)


if __name__ == "__main__":
    main()
