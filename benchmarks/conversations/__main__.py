"""What a running service answers after weeks of conversation: right, stale, hedged, abstained, wrong or leaked.

    python -m benchmarks.conversations FILE_OR_FOLDER … --url http://127.0.0.1:8000 [--only en-s1] [--out REPORT.json]

Theory: evidence is among the ten best lines in 95% of the questions (DESIGN §6), so what is missed is lost in choosing:
which line is the newest, which still holds, and when none answers. Facts that know their intervals are predicted to win
updates, corrections and forgetting, and nothing on the single facts that retrieval finds already.

Each scenario is played as a user of its own, session by session at the times that it names, and each question is asked
in a session of its own (`playing.py`); replies are judged by rules (`judge.py`). The report holds verdicts and no
texts; `--show` prints what was not right, for files that may be looked at. The last line is JSON.
"""

import argparse
import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from jiyi.client import JiyiClient

from .judge import Reply, Verdict, judge
from .playing import Player, Way
from .scenarios import Kind, Question, Scenario, read_scenarios

_PATIENCE_S = 120.0
_WIDTH = 140


@dataclass(frozen=True, slots=True)
class Judged:
    """A question of a scenario with its reply."""

    scenario: Scenario
    question: Question
    reply: Reply
    verdict: Verdict


def play_all(
    scenarios: Sequence[Scenario], url: str, *, way: Way, users_at_once: int, api_key: str | None = None
) -> list[Judged]:
    """Plays all scenarios, several at once, and judges the replies; in the order of the scenarios."""
    with Progress(console=Console(stderr=True), transient=True) as progress:
        asked = progress.add_task("questions", total=sum(len(scenario.questions) for scenario in scenarios))
        local = threading.local()

        def play(scenario: Scenario) -> list[Judged]:
            if not hasattr(local, "client"):
                local.client = JiyiClient(url, patience_s=_PATIENCE_S, api_key=api_key)
            judged = []
            for question, reply in Player(local.client, way=way).play(scenario):
                judged.append(Judged(scenario, question, reply, judge(question, reply)))
                progress.advance(asked)
            return judged

        with ThreadPoolExecutor(users_at_once) as players:
            return [row for judged in players.map(play, scenarios) for row in judged]


def figures(judged: Iterable[Judged]) -> dict[str, dict[str, dict[str, int]]]:
    """Verdicts counted by type and language; `all` stands for every type and every language."""
    counts: dict[str, dict[str, Counter[str]]] = {}
    for row in judged:
        for kind in (row.question.kind.value, "all"):
            for language in (row.scenario.language, "all"):
                of_kind = counts.setdefault(kind, {})
                of_kind.setdefault(language, Counter())[row.verdict.value] += 1
    return {
        kind: {language: dict(counted) for language, counted in of_kind.items()} for kind, of_kind in counts.items()
    }


def main() -> None:
    """Prints a table and, last, one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path, nargs="+", help="scenario files, or folders of them")
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--api-key", help="where the service asks for one")
    parser.add_argument("--way", type=Way, choices=list(Way), default=Way.CHAT, help="how sessions are sent")
    parser.add_argument("--only", default="", help="scenarios, or files, whose name has this in it")
    parser.add_argument("--users-at-once", type=int, default=4)
    parser.add_argument("--out", type=Path, help="file for the verdict of each question")
    parser.add_argument("--show", action="store_true", help="print what was not right, with its texts")
    arguments = parser.parse_args()
    scenarios = _scenarios(arguments.paths, arguments.only)
    if not scenarios:
        sys.exit("no scenarios there")
    with JiyiClient(arguments.url) as client:
        if not client.is_ready():
            sys.exit(f"no service is ready at {arguments.url}")
    begin = time.perf_counter()
    judged = play_all(
        scenarios,
        arguments.url,
        way=arguments.way,
        users_at_once=arguments.users_at_once,
        api_key=arguments.api_key,
    )
    result = {
        "benchmark": "conversations",
        "way": arguments.way.value,
        "scenarios": len(scenarios),
        "questions": len(judged),
        "took_s": round(time.perf_counter() - begin),
        "verdicts": figures(judged),
    }
    if arguments.show:
        _show(judged)
    Console(width=_WIDTH).print(table(result["verdicts"]))
    if arguments.out:
        rows = [_row(row) for row in judged]
        arguments.out.write_text(json.dumps(result | {"rows": rows}, ensure_ascii=False, indent=1), encoding="utf-8")
    print(json.dumps(result))


def _scenarios(paths: Iterable[Path], only: str) -> list[Scenario]:
    files = [file for path in paths for file in (sorted(path.glob("*.txt")) if path.is_dir() else [path])]
    return [scenario for file in files for scenario in read_scenarios(file) if only in file.stem or only in scenario.id]


def table(verdicts: dict[str, dict[str, dict[str, int]]]) -> Table:
    """Verdicts by type, with the right share of each language."""
    languages = [language for language in verdicts["all"] if language != "all"]
    shown = Table(title="Questions by type", title_justify="left")
    shown.add_column("type")
    for column in ("questions", "right %", *Verdict, *(f"{language} %" for language in languages)):
        shown.add_column(str(column), justify="right")
    for kind in (*Kind, "all"):
        of_kind = verdicts.get(str(kind))
        if of_kind is None:
            continue
        counts = of_kind["all"]
        shares = [_share(of_kind.get(language, {})) for language in languages]
        cells = [sum(counts.values()), _share(counts), *(counts.get(verdict, 0) for verdict in Verdict), *shares]
        shown.add_row(str(kind), *map(str, cells), end_section=kind is Kind.CROSS_LANGUAGE)
    return shown


def _share(counts: dict[str, int]) -> str:
    total = sum(counts.values())
    return f"{100 * counts.get(Verdict.RIGHT, 0) / total:.0f}" if total else "–"


def _row(row: Judged) -> dict[str, Any]:
    return {
        "scenario": row.scenario.id,
        "language": row.scenario.language,
        "question": row.scenario.questions.index(row.question),
        "type": row.question.kind,
        "verdict": row.verdict,
    }


def _show(judged: Iterable[Judged]) -> None:
    for row in judged:
        if row.verdict is not Verdict.RIGHT:
            wanted = " & ".join(" / ".join(part) for part in row.question.parts)
            print(f"{row.scenario.id} {row.question.kind} {row.verdict}: {row.question.text}")
            print(
                f"   want {row.question.expected} {wanted} not {list(row.question.untrue)}\n   got  {row.reply.text!r}"
            )


if __name__ == "__main__":
    main()
