import json
from pathlib import Path

import pytest

from training.shared.learning_curve import Curve, by_step, draw_curve
from training.shared.loop import keep_best


def test_a_log_becomes_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    entries = [
        {"step": 20, "place": 3.0, "segment": 5.0},
        {"step": 40, "place": 1.0, "segment": 2.0},
        {"step": 40, "tune": {"toy": {"EM": 50.0}}},
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, entries)), encoding="utf-8")
    assert draw_curve(tmp_path / "log.jsonl", tmp_path / "curve.png", Curve(("place", "segment"), "EM", "exact match"))
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_the_checkpoint_of_the_best_epoch_is_kept(tmp_path: Path) -> None:
    is_best = []
    for score in (50.0, 60.0, 55.0):
        with (tmp_path / "log.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps({"step": 20, "place": 3.0}) + "\n")
            log.write(json.dumps({"step": 40, "tune": {"one": {"EM": score}, "two": {"EM": 10.0}}}) + "\n")
        (tmp_path / "checkpoint.pt").write_text(str(score))
        is_best.append(keep_best(tmp_path, "EM"))
    assert is_best == [True, True, False]
    assert (tmp_path / "best.pt").read_text() == "60.0"


def test_a_step_that_a_resumed_run_repeats_is_drawn_once() -> None:
    first, second, again = {"step": 20, "place": 2.0}, {"step": 40, "place": 1.5}, {"step": 40, "place": 1.0}
    assert by_step([first, second, again]) == [first, again]
