import json
from pathlib import Path

import pytest
from training.rewriter.ceiling import ceiling
from training.rewriter.data import RewritingRow
from training.rewriter.evaluate import measure
from training.rewriter.labels import Limits
from training.rewriter.resolvers import resolve_rows, rules

from training.shared.learning_curve import Curve, by_step, draw_curve
from training.shared.loop import keep_best

ROWS = [
    RewritingRow(("我在西安", "好"), "它好吗", "西安好吗", "toy"),
    RewritingRow(("你好", "好"), "在吗", "你在吗", "toy"),
    RewritingRow(("你好", "好"), "在吗", "龙在吗", "toy"),
]


def test_the_rules_answer_every_row_in_order() -> None:
    outputs = resolve_rows(rules(), [*ROWS, RewritingRow((), "你好", "你好", "toy")], "rules")
    assert len(outputs) == 4
    assert outputs[3] == "你好"


def test_every_measure_has_a_value_and_some_an_interval() -> None:
    figures = measure(ROWS, [row.target for row in ROWS])
    assert figures["EM"] == {"value": 100, "low": 100, "high": 100}
    assert set(figures["ROUGE-L"]) == {"value"}


def test_the_ceiling_is_what_an_oracle_reaches() -> None:
    assert ceiling(ROWS, (), Limits()) == pytest.approx(200 / 3)
    assert ceiling(ROWS, ("龙",), Limits()) == 100
    assert ceiling(ROWS, (), Limits(segments=0)) == 0


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
