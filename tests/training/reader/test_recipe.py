from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from training.reader import recipe
from training.reader.recipe import MEANS, STAGES
from training.reader.train import ReaderOptions
from training.shared import recipes
from training.shared.loop import training_parser


def commands(monkeypatch: pytest.MonkeyPatch, *given: str) -> list[tuple[str, list[str]]]:
    """The modules that a recipe runs, with their arguments."""
    ran: list[tuple[str, list[str]]] = []

    def record(module: str, *arguments: Any) -> None:
        ran.append((module, [str(argument) for argument in arguments]))

    def average(parts: Sequence[tuple[Path, float]], out: Path) -> Path:
        ran.append((f"average {out}", [f"{path}:{share}" for path, share in parts]))
        return out

    monkeypatch.setattr(recipe, "run_module", record)
    monkeypatch.setattr(recipes, "run_module", record)
    monkeypatch.setattr(recipes, "average_checkpoints", average)
    arguments = ["DATA", "--corpus", "A", "B", "--out", "OUT", "--cache", "MODELS", "--weights", "W.safetensors"]
    monkeypatch.setattr("sys.argv", ["recipe", *arguments, *given])
    recipe.main()
    return ran


def value(arguments: list[str], option: str) -> str:
    return arguments[arguments.index(option) + 1]


def test_each_stage_starts_from_the_one_before_or_a_mean_and_the_last_mean_is_exported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    *ran, (module, export), qualifiers, overview, forget, changes, kinds = commands(
        monkeypatch, "--start", "before/start.pt"
    )
    stages = [arguments for name, arguments in ran if name == "reader.train"]
    assert [value(arguments, "--out") for arguments in stages] == [f"OUT/{stage.name}" for stage in STAGES]
    checkpoints = [f"OUT/{stage.name}/checkpoint.pt" for stage in STAGES]
    with_everyday = "OUT/everyday/with_everyday.pt"
    with_more = "OUT/more_everyday/with_more_everyday.pt"
    starts = ["before/start.pt", *checkpoints[:-4], "OUT/plain/evened.pt", with_everyday, with_more]
    assert [value(arguments, "--start") for arguments in stages] == starts
    assert value(stages[0], "--words") == "before/words.json"
    assert value(stages[-1], "--words") == "OUT/more_everyday/words.json"
    averaged = dict(command for command in ran if command[0].startswith("average"))
    assert averaged["average OUT/plain/evened.pt"] == [
        f"OUT/{name}/checkpoint.pt:{share}" for name, share in MEANS["evened"]
    ]
    shipped = "OUT/talks/shipped.pt"
    assert averaged[f"average {shipped}"] == [f"{with_more}:0.2", "OUT/talks/checkpoint.pt:0.8"]
    assert (module, value(export, "--checkpoint"), value(export, "--out")) == (
        "reader.export",
        shipped,
        "W.safetensors",
    )
    assert (qualifiers[0], value(qualifiers[1], "--weights")) == ("reader.qualifiers", "W.safetensors")
    assert [(name, of[0], value(of, "--weights")) for name, of in (overview, forget, changes)] == [
        ("reader.message_heads", kind, "W.safetensors") for kind in ("overview", "forget", "changes")
    ]
    assert (kinds[0], value(kinds[1], "--weights")) == ("reader.kinds", "W.safetensors")


def test_where_a_stage_starts_teaches_it_what_queries_are_for(monkeypatch: pytest.MonkeyPatch) -> None:
    *_, (module, export), (_, last), _, _, _, _, _, _, _ = commands(monkeypatch)
    assert module == "reader.export"
    assert value(export, "--checkpoint") == value(last, "--start") == "OUT/more_everyday/with_more_everyday.pt"
    assert value(last, "--teacher") == value(export, "--out")


def test_stages_are_trainings_that_go_on_where_they_were_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    parser = training_parser("Trains.", "rows", ReaderOptions)
    parser.add_argument("--corpus", type=Path, nargs="+")
    parser.add_argument("--words", type=Path)
    parser.add_argument("--chat-names", type=Path)
    parser.add_argument("--teacher", type=Path)
    for module, arguments in commands(monkeypatch, "--device", "cuda", "--chat-names", "NAMES"):
        if module != "reader.train":
            continue
        parsed = parser.parse_args(arguments)
        assert parsed.resume
        assert parsed.epochs > 0
        assert (parsed.corpus, parsed.chat_names) == ([Path("A"), Path("B")], Path("NAMES"))
        assert (parsed.device, parsed.workers, parsed.batch_rows) == ("cuda", 1, 128)


def test_a_recipe_may_start_from_the_prepared_body(monkeypatch: pytest.MonkeyPatch) -> None:
    (_, first), *_ = commands(monkeypatch)
    assert "--start" not in first
