"""Trains the answer reader that ships, from the chat corpora to the weight file, by one command.

    python -m training.answers.recipe CORPUS --corpus FOLDER … --out DIR --cache MODELS --weights FILE.safetensors

One stage after the other, each as `training.answers.train` would be called by hand; killed at any time, the same
command continues where it stopped. On a GPU `--device cuda`.
"""

from pathlib import Path
from typing import Any

from ..shared.checkpoints import average_checkpoints
from ..shared.recipes import device_options, recipe_parser, run_module

Mean = tuple[tuple[str, float], ...]
"""Names of stages, or of `MEANS`, with their weights."""

STAGES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "first",
        (
            *("--epochs", "0.7", "--cooldown", "0", "--warmup", "40", "--batch-tokens", "2000"),
            *("--body-rate", "1.5e-4", "--head-rate", "1e-3"),
        ),
    ),
    (
        "second",
        (
            *("--epochs", "1.6", "--cooldown", "0.8", "--warmup", "20", "--batch-tokens", "2400", "--decay", "0.99"),
            *("--body-rate", "1.5e-4", "--head-rate", "8e-4"),
        ),
    ),
    (
        "third",
        (
            *("--epochs", "3", "--cooldown", "0.9", "--warmup", "20", "--batch-tokens", "1400", "--decay", "0.99"),
            *("--body-rate", "1.3e-4", "--head-rate", "7e-4", "--seed", "7"),
            *("--fewer", "0.5", "--borrowed", "0.35", "--most-borrowed", "7"),
        ),
    ),
    (
        "requests",
        (
            *("--epochs", "3", "--cooldown", "0.8", "--warmup", "20", "--batch-tokens", "1600", "--decay", "0.99"),
            *("--body-rate", "1.2e-4", "--head-rate", "6e-4", "--seed", "11", "--questions", "0.5", "--scenarios", "4"),
            *("--fewer", "0.4", "--borrowed", "0.35", "--most-borrowed", "7"),
        ),
    ),
    (
        "scenarios",
        (
            *("--epochs", "1.2", "--cooldown", "0.8", "--warmup", "20", "--batch-tokens", "1600", "--decay", "0.99"),
            *("--body-rate", "1.2e-4", "--head-rate", "6e-4", "--seed", "13"),
            *("--questions", "0.35", "--scenarios", "2"),
            *("--fewer", "0.4", "--borrowed", "0.35", "--most-borrowed", "7"),
        ),
    ),
)
"""Names of the stages with their options; the last two read the scenarios, with requests to forget, most often."""

MEANS: dict[str, Mean] = {
    "before": (("third", 0.5), ("requests", 0.5)),
    "shipped": (("before", 0.5), ("scenarios", 0.5)),
}
"""Means of checkpoints, made as soon as what they are of is there: the last stage starts from the first one."""

STARTS = {"scenarios": "before"}
"""Where a stage starts that does not start from the one before it."""


def main() -> None:
    """Trains every stage and exports the mean that ships."""
    parser = recipe_parser("Trains the answer reader that ships.", "chat corpus")
    parser.add_argument("--corpus", type=Path, nargs="*", default=(), help="further folders of chat corpora")
    arguments = parser.parse_args()
    corpora: list[Any] = [arguments.data, *(("--corpus", *arguments.corpus) if arguments.corpus else ())]
    made: dict[str, Path] = {}
    start: Path | None = None
    for name, options in STAGES:
        folder: Path = arguments.out / name
        given: list[Any] = ["--out", folder, "--cache", arguments.cache, *options, "--resume"]
        given += device_options(arguments.device, batch_rows=64)
        start = made[STARTS[name]] if name in STARTS else start
        if start is not None:
            given += ["--start", start]
        run_module("answers.train", *corpora, *given)
        start = made[name] = folder / "checkpoint.pt"
        for mean, parts in MEANS.items():
            if mean not in made and all(part in made for part, _ in parts):
                file = arguments.out / f"{mean}.pt"
                made[mean] = average_checkpoints([(made[part], share) for part, share in parts], file)
    exported = ["--checkpoint", made["shipped"], "--cache", arguments.cache, "--out", arguments.weights]
    run_module("answers.export", *corpora, *exported)


if __name__ == "__main__":
    main()
