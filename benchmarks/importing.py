"""A corpus is imported while people chat: through the Embedder, and through the pool that is meant for it.

Theory: either way the same texts are embedded on the same cores, so the pool, which loads a model of its own first and
gives way to everything, makes an import no faster here; what it should buy is the wait of those who chat, because the
Embedder has their queries alone. On a machine with cores to spare, or with GPUs for the pool, it is faster as well.

    python -m benchmarks.importing FILE --home DIR [--port 8127] [--copies 2] [--backlog 500] [--rounds 2]

`FILE` is a recording as `jiyi replay` reads it; each copy is a user of its own. Starts a service in DIR for every
measurement and ends it. Medians; the last line is JSON.
"""

import argparse
import json
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.load.chatting import chat_p95_ms
from jiyi import Client, service
from jiyi.conversations import Conversation, read_conversations
from jiyi.replay import replay

_IDLE_S = 20.0
_BATCH = 64


def main() -> None:
    """Measures both ways in turn and prints a table and one JSON line."""
    arguments = _arguments()
    console = Console()
    read = read_conversations(arguments.file)
    ways = {"Embedder": 0, "pool": arguments.backlog}
    measured: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
    for number in range(arguments.rounds):
        for way, backlog in ways.items():
            console.print(f"round {number + 1}: {way}")
            measured[way].append(_measure(arguments, read, backlog, arguments.home / f"{number}-{way}"))
    medians = {
        way: {name: round(statistics.median(figures[name] for figures in rounds), 2) for name in rounds[0]}
        for way, rounds in measured.items()
    }
    table = Table(title=f"{arguments.rounds} rounds", title_justify="left")
    for column in ("through the", *next(iter(medians.values()))):
        table.add_column(column.replace("_", " "))
    for way, figures in medians.items():
        table.add_row(way, *map(str, figures.values()))
    console.print(table)
    print(json.dumps({"benchmark": "importing", "rounds": arguments.rounds, "ways": medians}))


def _measure(arguments: argparse.Namespace, read: list[Conversation], backlog: int, home: Path) -> dict[str, float]:
    settings = service.load_settings(home)
    settings = settings.model_copy(update={"reembedding": settings.reembedding.model_copy(update={"backlog": backlog})})
    service.prepare(settings)
    endpoint = service.start(settings, host="127.0.0.1", port=arguments.port, timeout_s=300, on_wait=lambda _: None)
    idle = chat_p95_ms(endpoint.url, _IDLE_S)
    with Client(endpoint.url, patience_s=60) as client, ThreadPoolExecutor(1) as beside, Progress() as progress:
        chatting = beside.submit(chat_p95_ms, endpoint.url, arguments.chat)
        begin = time.perf_counter()
        turns = 0
        for copy in range(arguments.copies):
            users = {conversation.user: f"{conversation.user} {copy}" for conversation in read}
            turns += replay(client, read, users=users, batch=_BATCH, progress=progress).turns
        seconds = time.perf_counter() - begin
        meanwhile = chatting.result()
        report = client.operations.health().parts["learner"]
    service.stop(settings, timeout_s=300)
    embedded = float(report.get("bulk_indexing_done", 0))
    return {
        "turns": turns,
        "seconds": seconds,
        "turns_per_s": turns / seconds,
        "embedded_by_the_pool": embedded,
        "chat_p95_ms_idle": idle,
        "chat_p95_ms_meanwhile": meanwhile,
        "chat_over_idle": meanwhile / idle,
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--port", type=int, default=8127)
    parser.add_argument("--copies", type=int, default=2)
    parser.add_argument("--backlog", type=int, default=500)
    parser.add_argument("--chat", type=float, default=40.0, help="seconds of chat meanwhile")
    parser.add_argument("--rounds", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    main()
