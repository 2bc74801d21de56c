"""Trains the answer reader that ships, from the chat corpora to the weight file, by one command.

    python -m training.answers.recipe CORPUS --corpus FOLDER … --out DIR --cache MODELS --weights FILE.safetensors

One stage after the other, each as `training.answers.train` would be called by hand; killed at any time, the same
command continues where it stopped. On a GPU `--device cuda`.
"""

from pathlib import Path
from typing import Any

from ..shared.recipes import Mean, Stage, device_options, recipe_parser, run_module, train_stages
from .marked_requests import Kind

_BEFORE_TOGETHER = ("--passages", "0", "--together", "0")
_BEFORE_NEAR = ("--near", "0", *_BEFORE_TOGETHER)
"""These questions were written after the first stages."""
_BORROWED = ("--borrowed", "0.35", "--most-borrowed", "7")
_SMALL_RATES = ("--body-rate", "1.2e-4", "--head-rate", "6e-4")
_AVERAGED = ("--warmup", "20", "--decay", "0.99")

STAGES: tuple[Stage, ...] = (
    Stage(
        "first",
        (
            *("--epochs", "0.7", "--cooldown", "0", "--warmup", "40", "--batch-tokens", "2000"),
            *("--body-rate", "1.5e-4", "--head-rate", "1e-3", *_BEFORE_NEAR),
        ),
    ),
    Stage(
        "second",
        (
            *("--epochs", "1.6", "--cooldown", "0.8", *_AVERAGED, "--batch-tokens", "2400"),
            *("--body-rate", "1.5e-4", "--head-rate", "8e-4", *_BEFORE_NEAR),
        ),
    ),
    Stage(
        "third",
        (
            *("--epochs", "3", "--cooldown", "0.9", *_AVERAGED, "--batch-tokens", "1400"),
            *(
                "--body-rate",
                "1.3e-4",
                "--head-rate",
                "7e-4",
                "--seed",
                "7",
                *_BEFORE_NEAR,
                "--fewer",
                "0.5",
                *_BORROWED,
            ),
        ),
    ),
    Stage(
        "requests",
        (
            *(
                "--epochs",
                "3",
                "--cooldown",
                "0.8",
                *_AVERAGED,
                "--batch-tokens",
                "1600",
                *_SMALL_RATES,
                "--seed",
                "11",
            ),
            *("--answers", "0.5", "--scenarios", "4", *_BEFORE_NEAR, "--fewer", "0.4", *_BORROWED),
        ),
    ),
    Stage(
        "scenarios",
        (
            *("--epochs", "1.2", "--cooldown", "0.8", *_AVERAGED, "--batch-tokens", "1600", *_SMALL_RATES),
            *("--seed", "13", "--answers", "0.35", "--scenarios", "2", *_BEFORE_NEAR, "--fewer", "0.4", *_BORROWED),
        ),
        start="before",
    ),
    Stage(
        "near",
        (
            *("--epochs", "1.2", "--cooldown", "0.8", *_AVERAGED, "--batch-tokens", "1600", *_SMALL_RATES),
            *("--seed", "23", "--answers", "0.4", "--near", "0.8", "--scenarios", "1.6", *_BEFORE_TOGETHER),
            *("--fewer", "0.4", *_BORROWED),
        ),
        start="evened",
    ),
    Stage(
        "nearer",
        (
            *("--epochs", "1", "--cooldown", "0.8", *_AVERAGED, "--batch-tokens", "1600", *_SMALL_RATES),
            *("--seed", "41", "--answers", "0.3", "--near", "0.8", "--scenarios", "1", *_BEFORE_TOGETHER),
            *("--fewer", "0.4", *_BORROWED),
        ),
        start="with_near",
    ),
    Stage(
        "twins",
        (
            *("--epochs", "1.5", "--cooldown", "0.8", *_AVERAGED, "--batch-tokens", "1800", "--frozen-layers", "4"),
            *(*_SMALL_RATES, "--seed", "51", "--answers", "0.2", "--near", "0.9", "--scenarios", "0.6"),
            *(*_BEFORE_TOGETHER, "--meant", "0.9", "--replaced", "0.35", "--fewer", "0.4", *_BORROWED),
        ),
        start="with_nearer",
    ),
)
"""From "requests" on the scenarios, with requests to forget, are read most often; from "near" on `near` is read, and in
the last stage what messages do to earlier lines."""

MEANS: dict[str, Mean] = {
    "before": (("third", 0.5), ("requests", 0.5)),
    "evened": (("before", 0.5), ("scenarios", 0.5)),
    "with_near": (("evened", 0.5), ("near", 0.5)),
    "with_nearer": (("with_near", 0.5), ("nearer", 0.5)),
    "shipped": (("with_nearer", 0.5), ("twins", 0.5)),
}


def main() -> None:
    """Trains every stage and exports the mean that ships."""
    parser = recipe_parser("Trains the answer reader that ships.", "chat corpus")
    parser.add_argument("--corpus", type=Path, nargs="*", default=(), help="further folders of chat corpora")
    arguments = parser.parse_args()
    corpora: list[Any] = [arguments.data, *(("--corpus", *arguments.corpus) if arguments.corpus else ())]
    device = device_options(arguments.device, batch_rows=64)
    given = [*corpora, "--cache", arguments.cache]
    made = train_stages("answers.train", STAGES, MEANS, *given, out=arguments.out, device=device)
    run_module("answers.export", *given, "--checkpoint", made["shipped"], "--out", arguments.weights)
    folders = ("--corpus", arguments.data, *arguments.corpus)
    for kind in Kind:
        run_module(
            "answers.line_heads", kind.value, *folders, "--weights", arguments.weights, "--cache", arguments.cache
        )


if __name__ == "__main__":
    main()
