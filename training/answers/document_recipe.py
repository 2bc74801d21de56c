"""Trains the answer reader of documents that ships, from the answer reader of conversations, by one command.

    python -m training.answers.document_recipe CORPUS --corpus FOLDER … --documents DATA --answers FILE.safetensors
        --out DIR --cache MODELS --weights FILE.safetensors

DATA holds the public questions (`passages.py`); without it only our own `passages` are learned. As in `recipe.py`, a
killed run continues where it stopped.
"""

from pathlib import Path
from typing import Any

from models.assets.weight_files import shipped_weight_file

from ..shared.recipes import Mean, Stage, device_options, recipe_parser, run_module, train_stages

_SMALL_RATES = ("--body-rate", "1.2e-4", "--head-rate", "6e-4")
_DOCUMENTS_ALONE = (
    "--answers",
    "0",
    "--together",
    "0",
    "--scenarios",
    "0",
    "--passages",
    "1",
    "--dropped-passages",
    "0.15",
    "--fewer",
    "0.3",
)
_BATCHES = ("--cooldown", "0.8", "--batch-tokens", "1600")

STAGES: tuple[Stage, ...] = (
    Stage(
        "near",
        (
            *("--epochs", "1", *_BATCHES, "--warmup", "20", "--decay", "0.985", *_SMALL_RATES, "--seed", "17"),
            *("--answers", "0.12", "--near", "0.8", "--scenarios", "0.3", "--passages", "0.5", "--articles", "0.25"),
            *("--together", "0"),
            *("--fewer", "0.4", "--borrowed", "0.35", "--most-borrowed", "7"),
        ),
    ),
    Stage(
        "documents",
        (
            *("--epochs", "1", *_BATCHES, "--warmup", "10", "--decay", "0.985", *_SMALL_RATES, "--seed", "19"),
            *("--near", "0.1", "--articles", "0.1", *_DOCUMENTS_ALONE),
        ),
    ),
    Stage(
        "more",
        (
            *("--epochs", "2", *_BATCHES, "--warmup", "15", "--decay", "0.99", "--body-rate", "1.4e-4"),
            *("--head-rate", "7e-4", "--seed", "29", "--near", "0.1", "--articles", "0.25", *_DOCUMENTS_ALONE),
        ),
    ),
    Stage(
        "last",
        (
            *("--epochs", "1", *_BATCHES, "--warmup", "15", "--decay", "0.99", "--body-rate", "1.3e-4"),
            *("--head-rate", "6e-4", "--seed", "37", "--near", "0.05", "--articles", "0.1", *_DOCUMENTS_ALONE),
        ),
        start="evened",
    ),
)

MEANS: dict[str, Mean] = {"evened": (("documents", 0.5), ("more", 0.5))}


def main() -> None:
    """Trains every stage and exports the last checkpoint."""
    parser = recipe_parser("Trains the answer reader of documents that ships.", "chat corpus")
    parser.add_argument("--corpus", type=Path, nargs="*", default=(), help="further folders of chat corpora")
    parser.add_argument("--documents", type=Path, help="folder of data with passages, see passages.py; none by default")
    parser.add_argument("--answers", type=Path, default=shipped_weight_file("answers"), help="where it starts")
    arguments = parser.parse_args()
    corpora: list[Any] = [arguments.data, *(("--corpus", *arguments.corpus) if arguments.corpus else ())]
    given = [*corpora, "--cache", arguments.cache]
    public = ["--documents", arguments.documents] if arguments.documents else []
    made = train_stages(
        "answers.train",
        STAGES,
        MEANS,
        *given,
        *public,
        out=arguments.out,
        device=device_options(arguments.device, batch_rows=64),
        options_from=lambda _, start: ["--start", start] if start else ["--weights", arguments.answers],
    )
    exported = ["--checkpoint", made[STAGES[-1].name], "--out", arguments.weights, "--documents"]
    run_module("answers.export", *given, *exported)


if __name__ == "__main__":
    main()
