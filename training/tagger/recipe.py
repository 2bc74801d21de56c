"""Trains the tagger that ships, from the data folder to the weight file, by one command.

    python -m training.tagger.recipe DATA --out DIR --cache MODELS --chat-names FILE --weights FILE.safetensors

Killed at any time, the same command continues where it stopped. About an hour on two CPU cores; on a GPU
`--device cuda`. With `--sets open` only data sets are read whose licence allows any use.
"""

from pathlib import Path
from typing import Any

from ..shared.recipes import device_options, recipe_parser, run_module

_OPTIONS = ("--epochs", "3.5", "--body-rate", "2.5e-4")


def main() -> None:
    """Trains and exports."""
    parser = recipe_parser("Trains the tagger that ships.", "data sets of names")
    parser.add_argument("--chat-names", type=Path, required=True, help="the hand-labelled chat set: barred names")
    arguments = parser.parse_args()
    shared: list[Any] = ["--cache", arguments.cache, "--chat-names", arguments.chat_names]
    options = [*shared, "--out", arguments.out, "--sets", arguments.sets, *_OPTIONS, "--resume"]
    options += device_options(arguments.device, batch_rows=256)
    run_module("tagger.train", arguments.data, *options)
    checkpoint = arguments.out / "checkpoint.pt"
    run_module("tagger.export", arguments.data, *shared, "--checkpoint", checkpoint, "--out", arguments.weights)


if __name__ == "__main__":
    main()
