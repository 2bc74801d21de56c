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

from ..shared.recipes import Mean, Stage, device_options, recipe_parser, run_module, train_stages
from .message_heads import Kind

_LATER = ("--messages", "1.5", "--everyday", "1.5", "--batch-tokens", "1100")
_EVERYDAY = (
    *("--cooldown", "0.8", "--warmup", "30", "--decay", "0.99", "--body-rate", "1.2e-4", "--head-rate", "6e-4"),
    *("--messages", "0.5", "--everyday", "3", "--unrelated", "0.5", "--queries", "0.5", "--ambiguous", "2"),
    *("--rewriting", "0.03", "--names", "0.04", "--batch-tokens", "1100"),
)

STAGES: tuple[Stage, ...] = (
    Stage("first", ("--epochs", "1")),
    Stage("second", ("--epochs", "1.6")),
    Stage("third", ("--epochs", "3.4", "--cooldown", "0.75", *_LATER)),
    Stage(
        "last",
        (
            *("--epochs", "0.55", "--cooldown", "1", "--warmup", "30", "--body-rate", "1e-4", "--head-rate", "6e-4"),
            *("--ambiguous", "3", *_LATER),
        ),
    ),
    Stage(
        "messages",
        (
            *("--epochs", "2.15", "--cooldown", "0.8", "--body-rate", "1.5e-4", "--head-rate", "8e-4"),
            *("--messages", "2.6", "--everyday", "2.6", "--unrelated", "0.5", "--queries", "0.8", "--ambiguous", "2.5"),
            *("--rewriting", "0.05", "--names", "0.08", "--batch-tokens", "1100"),
        ),
    ),
    Stage(
        "plain",
        (
            *("--epochs", "0.75", "--cooldown", "1", "--warmup", "30", "--body-rate", "1e-4", "--head-rate", "6e-4"),
            *("--messages", "2", "--everyday", "2", "--queries", "0.6", "--ambiguous", "2.5"),
            *("--rewriting", "0.04", "--names", "0.05", "--batch-tokens", "1100"),
        ),
    ),
    Stage(
        "everyday",
        ("--epochs", "1.4", "--seed", "31", *_EVERYDAY),
        start="evened",
    ),
    Stage(
        "more_everyday",
        ("--epochs", "0.7", "--seed", "43", *_EVERYDAY),
        start="with_everyday",
    ),
    Stage(
        "talks",
        (
            *("--epochs", "1", "--seed", "57", "--cooldown", "0.8", "--warmup", "30", "--decay", "0.99"),
            *("--body-rate", "1.2e-4", "--head-rate", "6e-4", "--messages", "0.3", "--everyday", "1"),
            *("--talks", "2.5", "--signed", "0.5", "--unrelated", "0.5", "--queries", "0.4", "--ambiguous", "2"),
            *("--recalled", "0.2", "--rewriting", "0.02", "--names", "0.05", "--batch-tokens", "1100"),
        ),
        start="with_more_everyday",
    ),
)
TAUGHT = frozenset({"last", "messages", "plain", "everyday", "more_everyday", "talks"})
"""Stages before which a file is written that teaches them what queries are for, which the corpora mark of messages
only."""
MEANS: dict[str, Mean] = {
    "evened": (("second", 0.35), ("messages", 0.15), ("plain", 0.5)),
    "with_everyday": (("evened", 0.5), ("everyday", 0.5)),
    "with_more_everyday": (("with_everyday", 0.5), ("more_everyday", 0.5)),
    "shipped": (("with_more_everyday", 0.2), ("talks", 0.8)),
}
"""A last stage alone asks back less often where it should, and finds fewer names behind other turns."""


def main() -> None:
    """Trains every stage, exports the mean that ships, and trains the heads on it that are trained by themselves."""
    parser = recipe_parser("Trains the reader that ships.", "public data sets")
    parser.add_argument("--corpus", type=Path, nargs="+", required=True, help="folders of chat corpora")
    parser.add_argument("--chat-names", type=Path, help="a hand-labelled set whose names the chat templates leave out")
    parser.add_argument("--start", type=Path, help="a checkpoint with the words of its run beside it")
    arguments = parser.parse_args()
    corpora: list[Any] = ["--corpus", *arguments.corpus]
    names = [] if arguments.chat_names is None else ["--chat-names", arguments.chat_names]

    def options_from(stage: Stage, start: Path | None) -> list[Any]:
        options: list[Any] = [] if start is None else ["--start", start, "--words", start.parent / "words.json"]
        if stage.name in TAUGHT:
            teacher = arguments.out / stage.name / "teacher.safetensors"
            _export(start, teacher, arguments.cache, corpora)
            options += ["--teacher", teacher]
        return options

    made = train_stages(
        "reader.train",
        STAGES,
        MEANS,
        *(arguments.data, *corpora, "--cache", arguments.cache, "--sets", arguments.sets, *names),
        out=arguments.out,
        first=arguments.start,
        device=device_options(arguments.device, batch_rows=128),
        options_from=options_from,
    )
    _export(made["shipped"], arguments.weights, arguments.cache, corpora)
    run_module("reader.qualifiers", *corpora, "--weights", arguments.weights, "--cache", arguments.cache)
    for kind in Kind:
        run_module(
            "reader.message_heads", kind.value, *corpora, "--weights", arguments.weights, "--cache", arguments.cache
        )
    run_module("reader.kinds", *corpora, "--weights", arguments.weights, "--cache", arguments.cache)


def _export(checkpoint: Path | None, weights: Path, cache: Path, corpora: Sequence[Any]) -> None:
    run_module("reader.export", *corpora, "--checkpoint", checkpoint, "--cache", cache, "--out", weights)


if __name__ == "__main__":
    main()
