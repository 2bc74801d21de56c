"""What a service answers after weeks of conversation: right, stale, hedged, left open, wrong or leaked.

    python -m benchmarks.conversations FILE_OR_FOLDER … --url http://127.0.0.1:8000 [--systems jiyi,bm25,mem0,model]
        [--only en-s1] [--out REPLIES.jsonl] [--plot FILE.png] [--docs FILE.md]

Theory: evidence is among the ten best lines in 95% of the questions (DESIGN §6), so what is missed is lost in choosing:
which line is the newest, which still holds, and when none answers. A search alone quotes its best line and knows
neither, so that it is predicted to lose updates, forgetting and what nothing answers, and little else.

Each scenario is played as a user of its own, session by session at the times that it names, and each question is asked
in a session of its own; replies are judged by rules (`judge.py`). Systems: `jiyi`, the service over HTTP; `bm25`, the
best line by BM25; `mem0`, the best line of mem0's search with the encoder of the service (`/v1/embeddings`), in an
environment that is made in `--work`; `model`, a language model at an OpenAI-compatible endpoint that answers from the
lines that Jiyi's `/search` finds. Both searches say that they have nothing where the score is too low. What is
forgotten must be neither in the reply of a system nor in what Jiyi shows beside it. The last line is JSON.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from jiyi import Client

from . import bm25, mem0_search
from .answerer import Answerer, Endpoint, endpoint_from
from .bm25 import Bm25
from .figures import Judged, summarise
from .mem0_search import Mem0
from .playing import Player, Way
from .report import markdown, missed, row_of, tables
from .running import answer_all, choose_least_scores, play_all
from .scenarios import Scenario, read_scenarios
from .systems import BestLine, LineSearch

_SEARCHES = {"bm25": bm25.LEAST_SCORES, "mem0": mem0_search.LEAST_SCORES}
SYSTEMS = ("jiyi", "bm25", "mem0", "model")
_PATIENCE_S = 120.0
_WIDTH = 160


def main() -> None:
    """Prints tables and, last, one JSON line."""
    arguments = _arguments()
    scenarios = _scenarios(arguments.paths, arguments.only)
    if not scenarios:
        sys.exit("no scenarios there")
    endpoint = endpoint_from(arguments.model_url, arguments.model, arguments.model_key)
    if "model" in arguments.systems and endpoint is None:
        sys.exit("no endpoint for the system `model`: give --model-url and --model")
    if {"jiyi", "model", "mem0"} & set(arguments.systems):
        with Client(arguments.url) as client:
            if not client.is_ready():
                sys.exit(f"no service is ready at {arguments.url}")
    if arguments.choose_least_scores:
        print(
            json.dumps({name: _choose(name, arguments, scenarios) for name in _SEARCHES if name in arguments.systems})
        )
        return
    begin = time.perf_counter()
    judged = _measure(arguments, scenarios, endpoint)
    summaries = {system: summarise(rows) for system, rows in judged.items()}
    rows = [row for of_system in judged.values() for row in of_system]
    result = {
        "benchmark": "conversations",
        "way": arguments.way.value,
        "users_at_once": arguments.users_at_once,
        "scenarios": len(scenarios),
        "took_s": round(time.perf_counter() - begin),
        "systems": summaries,
    }
    console = Console(width=_WIDTH)
    if arguments.show:
        for line in missed(rows):
            print(line)
    console.print(*tables(summaries))
    if arguments.out:
        lines = "".join(json.dumps(row_of(row), ensure_ascii=False) + "\n" for row in rows)
        arguments.out.write_text(lines, encoding="utf-8")
    if arguments.docs:
        questions = sum(len(scenario.questions) for scenario in scenarios)
        arguments.docs.write_text(
            markdown(summaries, about=f"{len(scenarios)} scenarios, {questions} questions."), encoding="utf-8"
        )
    if arguments.plot:
        from .plot import draw  # matplotlib is not part of every install

        draw(judged, arguments.plot)
    print(json.dumps(result))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path, nargs="+", help="scenario files, or folders of them")
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--api-key", help="where the service asks for one")
    parser.add_argument("--systems", type=_systems, default=["jiyi"], help=f"of {','.join(SYSTEMS)}")
    parser.add_argument("--way", type=Way, choices=list(Way), default=Way.CHAT, help="how sessions are sent")
    parser.add_argument("--only", default="", help="scenarios, or files, whose name has this in it")
    parser.add_argument("--users-at-once", type=int, default=4)
    parser.add_argument("--work", type=Path, default=Path("conversations-work"), help="folder for mem0")
    parser.add_argument("--model-url", help="endpoint of `model`, with /v1; else OPENAI_BASE_URL")
    parser.add_argument("--model", help="its name; else OPENAI_MODEL")
    parser.add_argument("--model-key", help="its key; else OPENAI_API_KEY")
    parser.add_argument("--out", type=Path, help="file for the replies, one JSON line each")
    parser.add_argument("--plot", type=Path, help="PNG to write")
    parser.add_argument("--docs", type=Path, help="Markdown file to write")
    parser.add_argument("--show", action="store_true", help="print what was not right, with its texts")
    parser.add_argument("--always-quote", action="store_true", help="bm25 and mem0 withhold no line")
    parser.add_argument("--choose-least-scores", action="store_true", help="print those for bm25 and mem0, no figures")
    return parser.parse_args()


def _systems(names: str) -> list[str]:
    chosen = names.split(",")
    if unknown := set(chosen) - set(SYSTEMS):
        raise argparse.ArgumentTypeError(f"not known: {', '.join(sorted(unknown))}")
    return chosen


def _scenarios(paths: Iterable[Path], only: str) -> list[Scenario]:
    files = [file for path in paths for file in (sorted(path.glob("*.txt")) if path.is_dir() else [path])]
    return [scenario for file in files for scenario in read_scenarios(file) if only in file.stem or only in scenario.id]


def _measure(
    arguments: argparse.Namespace, scenarios: Sequence[Scenario], endpoint: Endpoint | None
) -> dict[str, list[Judged]]:
    judged: dict[str, list[Judged]] = {}
    chosen, at_once = arguments.systems, arguments.users_at_once
    questions = sum(len(scenario.questions) for scenario in scenarios)
    with Progress(console=Console(stderr=True), transient=True) as progress:

        def advancing(name: str) -> Callable[[], None]:
            return partial(progress.advance, progress.add_task(name, total=questions))

        if {"jiyi", "model"} & set(chosen):
            player = Player(
                partial(Client, arguments.url, patience_s=_PATIENCE_S, api_key=arguments.api_key),
                way=arguments.way,
            )
            judged["jiyi"] = play_all("jiyi", player, scenarios, at_once=at_once, advance=advancing("jiyi"))
        for name in _SEARCHES:
            if name in chosen:
                with _search(name, arguments) as lines:
                    system = BestLine(lines, least_scores={} if arguments.always_quote else _SEARCHES[name])
                    judged[name] = play_all(name, system, scenarios, at_once=1, advance=advancing(name))
        if "model" in chosen and endpoint:
            with Answerer(endpoint) as answerer:
                rows = answer_all(answerer, judged["jiyi"], at_once=at_once, advance=advancing("model"))
            judged["model"] = rows
    return {name: judged[name] for name in chosen}


def _choose(name: str, arguments: argparse.Namespace, scenarios: Sequence[Scenario]) -> dict[str, float]:
    with _search(name, arguments) as lines:
        return choose_least_scores(lines, scenarios)


@contextmanager
def _search(name: str, arguments: argparse.Namespace) -> Iterator[LineSearch]:
    if name == "bm25":
        yield Bm25()
        return
    search = Mem0(arguments.work, embeddings_url=f"{arguments.url}/v1", api_key=arguments.api_key)
    with closing(search):
        yield search


if __name__ == "__main__":
    main()
