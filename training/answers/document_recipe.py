"""Trains the answer reader of documents that ships, from the answer reader of conversations, by one command.

    python -m training.answers.document_recipe CORPUS --corpus FOLDER … --documents DATA --answers FILE.safetensors
        --out DIR --cache MODELS --weights FILE.safetensors

DATA holds the public questions (`passages.py`); without it only our own `passages` are learned. As in `recipe.py`, a
killed run continues where it stopped.
"""

from pathlib import Path
from typing import Any

from models.assets.weight_files import shipped_weight_file

from ..shared.recipes import device_options, recipe_parser, run_module

STAGES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "near",
        (
            *("--epochs", "1", "--cooldown", "0.8", "--warmup", "20", "--batch-tokens", "1600", "--decay", "0.985"),
            *("--body-rate", "1.2e-4", "--head-rate", "6e-4", "--seed", "17", "--answers", "0.12", "--near", "0.8"),
            *("--scenarios", "0.3", "--passages", "0.5", "--articles", "0.25"),
            *("--fewer", "0.4", "--borrowed", "0.35", "--most-borrowed", "7"),
        ),
    ),
    (
        "documents",
        (
            *("--epochs", "1", "--cooldown", "0.8", "--warmup", "10", "--batch-tokens", "1600", "--decay", "0.985"),
            *("--body-rate", "1.2e-4", "--head-rate", "6e-4", "--seed", "19", "--answers", "0", "--near", "0.1"),
            *("--scenarios", "0", "--passages", "1", "--articles", "0.1"),
            *("--dropped-passages", "0.15", "--fewer", "0.3"),
        ),
    ),
)
"""Names of the stages with their options."""


def main() -> None:
    """Trains every stage and exports the last checkpoint."""
    parser = recipe_parser("Trains the answer reader of documents that ships.", "chat corpus")
    parser.add_argument("--corpus", type=Path, nargs="*", default=(), help="further folders of chat corpora")
    parser.add_argument("--documents", type=Path, help="folder of data with passages, see passages.py; none by default")
    parser.add_argument("--answers", type=Path, default=shipped_weight_file("answers"), help="where it starts")
    arguments = parser.parse_args()
    corpora: list[Any] = [arguments.data, *(("--corpus", *arguments.corpus) if arguments.corpus else ())]
    public = ["--documents", arguments.documents] if arguments.documents else []
    start: list[Any] = ["--weights", arguments.answers]
    for name, options in STAGES:
        folder: Path = arguments.out / name
        given: list[Any] = ["--out", folder, "--cache", arguments.cache, *options, *public, *start, "--resume"]
        run_module("answers.train", *corpora, *given, *device_options(arguments.device, batch_rows=64))
        start = ["--start", folder / "checkpoint.pt"]
    exported = ["--checkpoint", start[-1], "--cache", arguments.cache, "--out", arguments.weights, "--documents"]
    run_module("answers.export", *corpora, *exported)


if __name__ == "__main__":
    main()
