"""What the conversation benchmark counts, and how it shows it."""

import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from benchmarks.conversations import __main__ as command
from benchmarks.conversations.figures import (
    Judged,
    RiskCurve,
    count_evidence,
    count_verdicts,
    risk_curve,
    summarise,
    totals,
)
from benchmarks.conversations.judge import Reply, Verdict
from benchmarks.conversations.report import markdown, missed, row_of, tables
from benchmarks.conversations.scenarios import parse_scenarios
from benchmarks.conversations.systems import Answered, Found, Prompt

[_SCENARIO] = parse_scenarios("""
@ asked en
## 2026-03-02 09:10
U: I live in Bath.
U: The code is 4471.
U: I walk to work.
## 2026-03-20 21:30
U: I moved to Leeds.
## 2026-03-21 08:00
? Where do I live? => Leeds | not: Bath | ev: 1, 4 | type: update
? How do I get to work? => DOUBT | not: walk | ev: 3 | type: dependent
? The code? => NONE | not: 4471 | ev: 2 | type: forget
? My blood type? => NONE | type: abstain
? Where did I live before? => Bath | ev: 1 | type: as_of
""")


def _judged(
    number: int,
    verdict: Verdict,
    *,
    text: str = "「a line」",
    found: tuple[int, ...] = (),
    confidence: float | None = None,
    took_s: float = 0.01,
) -> Judged:
    said = [line.text for session in _SCENARIO.sessions for line in session.lines]
    lines = tuple(Found(said[place - 1], 1.0, "2026-03-02") for place in found)
    reply = Reply(text, confidence=confidence)
    question = _SCENARIO.questions[number]
    return Judged("bm25", _SCENARIO, number, question, Answered(reply, lines, took_s), verdict)


_ALL = [
    _judged(0, Verdict.STALE, found=(1, 3), confidence=0.9, took_s=0.03),
    _judged(1, Verdict.RIGHT, text="I don't know whether you still walk.", found=(3,), confidence=0.5, took_s=0.01),
    _judged(2, Verdict.LEAKED, found=(2,), confidence=0.7, took_s=0.02),
    _judged(3, Verdict.RIGHT, text="I have nothing about that.", confidence=0.1, took_s=0.05),
    _judged(4, Verdict.RIGHT, found=(4, 1), confidence=0.8, took_s=0.04),
]


def test_verdicts_are_counted_by_type_and_language() -> None:
    counted = count_verdicts(_ALL)
    assert counted["update"] == {"en": {"stale": 1}, "all": {"stale": 1}}
    assert counted["all"]["all"] == {"right": 3, "stale": 1, "leaked": 1}


def test_evidence_is_found_where_all_its_lines_are_and_not_asked_where_none_may_be() -> None:
    assert [row.finds_evidence for row in _ALL] == [(True, False), (True,), (), (), (True,)]
    assert count_evidence(_ALL)["all"]["en"] == {"asked": 3, "found": 2}
    assert "forget" not in count_evidence(_ALL)


def test_the_totals_are_those_that_are_published() -> None:
    figures = summarise(_ALL)
    assert figures["totals"] == {
        "answerable": 50.0,
        "unanswerable": 50.0,
        "changed": 0.0,
        "dependent": 100.0,
        "not_for_memory": None,
        "all": 60.0,
        "evidence": 66.7,
        "some_evidence": 100.0,
        "prompts_with_memories": None,
        "prompts_with_any": None,
    }
    assert figures["latency_ms"] == {"median": 30.0, "p95": 40.0}
    assert json.loads(json.dumps(figures)) == figures


def test_prompts_for_what_nothing_answers_are_counted_with_a_memory_and_with_anything() -> None:
    prompts = (Prompt(), Prompt(names=("Owen",)), Prompt(("a line",), ("Owen",)), Prompt(("a line",)))
    rows = [replace(_ALL[3], answered=replace(_ALL[3].answered, prompt=prompt)) for prompt in prompts]
    figures = totals([*_ALL, *rows])
    assert (figures["prompts_with_memories"], figures["prompts_with_any"]) == (50.0, 75.0)


def test_what_is_not_for_memory_is_counted_by_itself_and_is_no_point_of_the_curve() -> None:
    [scenario] = parse_scenarios("@ left en\n## 2026-03-02 09:10\n? Bye! => REPLY | type: farewell")
    [question] = scenario.questions
    row = Judged("jiyi", scenario, 0, question, Answered(Reply("Hello!"), (), 0.01), Verdict.WRONG)
    figures = summarise([*_ALL, row])
    assert figures["totals"]["not_for_memory"] == 0.0
    assert figures["risk_coverage"] == summarise(_ALL)["risk_coverage"]


def test_the_curve_is_over_replies_that_answer_surest_first() -> None:
    curve = risk_curve(_ALL)
    assert curve is not None
    assert curve.coverage == pytest.approx((0.2, 0.4, 0.6, 0.8))
    assert curve.risk == pytest.approx((1, 1 / 2, 2 / 3, 1 / 2))


def test_replies_of_equal_confidence_are_given_together() -> None:
    curve = risk_curve([_judged(0, Verdict.RIGHT, confidence=0.5), _judged(4, Verdict.WRONG, confidence=0.5)])
    assert curve == RiskCurve((1.0,), (0.5,))


def test_without_confidences_there_is_no_curve() -> None:
    assert risk_curve([_judged(0, Verdict.RIGHT), _judged(4, Verdict.RIGHT)]) is None
    assert risk_curve([_judged(3, Verdict.RIGHT, text="I have nothing about that.", confidence=0.5)]) is None
    assert summarise([_judged(0, Verdict.RIGHT)])["risk_coverage"] is None


def test_a_reply_without_a_confidence_is_given_before_the_others() -> None:
    curve = risk_curve([_judged(0, Verdict.RIGHT, confidence=0.5), _judged(4, Verdict.WRONG)])
    assert curve == RiskCurve((0.5, 1.0), (1.0, 0.5))


def test_the_area_is_the_mean_risk_and_the_coverage_that_of_the_last_point_below() -> None:
    curve = RiskCurve((0.25, 0.5, 0.75, 1.0), (0.0, 0.0, 0.2, 0.1))
    assert curve.area == pytest.approx((0 + 0 + 0.1 + 0.15) * 0.25)
    assert curve.coverage_at(0.1) == 1.0
    assert curve.coverage_at(0.05) == 0.5
    assert RiskCurve((0.5,), (0.4,)).coverage_at(0.1) == 0.0


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=30))
def test_a_curve_ends_at_the_risk_of_giving_every_reply(replies: list[tuple[float, bool]]) -> None:
    rows = [_judged(0, Verdict.RIGHT if right else Verdict.WRONG, confidence=sure) for sure, right in replies]
    curve = risk_curve(rows)
    assert curve is not None
    assert curve.coverage[-1] == 1.0
    assert curve.risk[-1] == pytest.approx(sum(not right for _, right in replies) / len(replies))
    assert 0 <= curve.area <= 1


def test_tables_name_every_type_with_its_verdicts_and_evidence() -> None:
    summaries = {"bm25": summarise(_ALL), "mem0": summarise([_judged(0, Verdict.RIGHT)])}
    page = markdown(summaries, about="1 scenario.")
    assert "| answerable, right % | 50 | 100 |" in page
    assert "| risk–coverage, area | 0.73 | – |" in page
    assert "| coverage at 10% risk, % | 0 | – |" in page
    assert "| a question, median and p95 ms | 30.0, 40.0 | 10.0, 10.0 |" in page
    assert "| type | questions | bm25: all / en | mem0: all / en |" in page
    assert "| as_of | 1 | 100 / 100 | – / – |" in page
    assert "| all | 5 | 60 / 60 | 100 / 100 |" in page
    assert "### bm25" in page
    assert "| update | 1 | 0 | 0 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |" in page
    assert "| dependent | 1 | 100 | 1 | 0 | 0 | 0 | 0 | 0 | 100 | 100 | 100 |" in page
    assert "| forget | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 1 | 0 | – | – |" in page
    console = Console(width=160, file=io.StringIO())
    with console.capture() as captured:
        console.print(*tables(summaries))
    assert "as_of" in captured.get()


def test_a_row_holds_what_a_reader_needs_to_check_a_verdict() -> None:
    row = json.loads(json.dumps(row_of(_ALL[0])))
    assert (row["question"], row["values"], row["untrue"]) == ("Where do I live?", [["Leeds"]], ["Bath"])
    assert (row["verdict"], row["confidence"], row["finds_evidence"]) == ("stale", 0.9, [True, False])
    assert row["found"] == ["I live in Bath.", "I walk to work."]
    assert len(list(missed(_ALL))) == 2 * 3


def test_the_command_writes_replies_tables_and_a_plot_and_a_line_of_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example = Path(command.__file__).parent / "data" / "example.txt"
    files = {"--out": tmp_path / "replies.jsonl", "--docs": tmp_path / "report.md", "--plot": tmp_path / "report.png"}
    options = [str(word) for pair in files.items() for word in pair]
    monkeypatch.setattr(sys, "argv", ["conversations", str(example), "--systems", "bm25", *options])
    command.main()
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    questions = result["systems"]["bm25"]["questions"]
    assert len(files["--out"].read_text(encoding="utf-8").splitlines()) == questions > 20
    assert "### bm25" in files["--docs"].read_text(encoding="utf-8")
    assert files["--plot"].read_bytes().startswith(b"\x89PNG")


def test_a_model_without_an_endpoint_and_an_unknown_system_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example = str(Path(command.__file__).parent / "data" / "example.txt")
    for name in ("OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "argv", ["conversations", example, "--systems", "model"])
    with pytest.raises(SystemExit, match="no endpoint"):
        command.main()
    monkeypatch.setattr(sys, "argv", ["conversations", example, "--systems", "bm26"])
    with pytest.raises(SystemExit):
        command.main()
    assert "bm26" in capsys.readouterr().err
