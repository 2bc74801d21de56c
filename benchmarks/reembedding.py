"""`kill -9` during a change of the model, and how fast vectors are made beside what serves people.

Theory: a run's state is one row in the system of record, and all that is written can be written twice. So whatever
dies, the run goes on from its last row: an actor is started again by Ray Data (seconds, for torch and the weights), the
store and the Embedder by Serve, and the driver's successor finds the run when the lock of the dead one has run out
(10 s). Nothing may be lost or doubled: `index verify` compares every point with the record, in the new generation and,
after rolling back, in the old one. Throughput: the pool runs the same encoder with the same number of threads as the
raw measurement, and what it does besides (read, hand over, write) is another process's work; aim 0.9 of raw. It gives
way to chat, whose 95th percentile should stay below 1.5 times that at rest.

    python -m benchmarks.reembedding --home FOLDER [--port 8125] [--users 20] [--turns 100] [--kills 10]

Starts a service of its own in FOLDER and ends it. The last line is JSON.
"""

import argparse
import asyncio
import json
import random
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from benchmarks.load.chatting import chat_p95_ms
from benchmarks.survival import Replay
from deployments.builders.models.bulk_embedding import EmbedActor
from deployments.config.settings import AppArgs
from jiyi import Client, service
from jiyi.commands.output import plain
from memory.indexing.record_pages import walk
from models.assets.catalog import DEFAULT_MODEL
from storage.sqlite.record import SqliteRecord

VICTIMS = {"driver": "Learner", "actor": "EmbedActor", "store": "VectorShard", "embedder": "Embedder"}
LATE_VICTIMS = ("store", "driver")
"""Who is killed besides, one shortly after the other, in a phase that is short beside the filling."""
_WHOLE_S = 900.0
_POLL_S = 0.2
_LOOKS = 5
_SHORTEST_S = 5.0
_RAW_BATCH = 256
_LEARNED = "user "
"""How those are called whose texts the rate is measured with."""


@dataclass(frozen=True)
class Kill:
    """One kill.

    Attributes:
        victim: What was killed.
        phase, done, total: Where the run was.
        resumed_s: Until the run was further than that.
    """

    victim: str
    phase: str
    done: int
    total: int
    resumed_s: float


@dataclass(frozen=True)
class Verdict:
    """A generation compared with the record after it all; `said` turns were acknowledged meanwhile."""

    model: str
    said: int
    checked: int
    missing: int
    stale: int
    orphaned: int


def main() -> None:
    """Measures throughput, then kills; prints two tables and one JSON line."""
    arguments = _arguments()
    console = Console()
    settings = service.load_settings(arguments.home)
    for model in (DEFAULT_MODEL, arguments.to):
        service.prepare(settings, model)
    endpoint = service.start(settings, host="127.0.0.1", port=arguments.port, timeout_s=600, on_wait=lambda _: None)
    with Client(endpoint.url, patience_s=_WHOLE_S, timeout_s=60) as client:
        _learn(client, arguments.users, arguments.turns)
        idle = chat_p95_ms(endpoint.url, arguments.chat)
        client.index.reembed(arguments.to)
        with ThreadPoolExecutor(1) as beside:
            _until(client, lambda run: run["done"] > 0 or run["state"] != "running")
            chatting = beside.submit(chat_p95_ms, endpoint.url, arguments.chat)
            rate = _undisturbed(client)
            meanwhile = chatting.result()
        _rest(client)
        kills: list[Kill] = []
        verdicts: list[Verdict] = []
        draw = random.Random(arguments.seed)
        while len(kills) < arguments.kills:
            replay = Replay(endpoint.url, f"said meanwhile {len(verdicts)}")
            replay.start()
            client.index.reembed(arguments.to)
            victims = [[*VICTIMS][number % len(VICTIMS)] for number in range(len(kills), arguments.kills)]
            kills += _kill(client, settings, endpoint, victims, draw, arguments.pause)
            kills += _kill_late(client, settings, endpoint, "verifying", draw)
            run = _until(client, lambda run: run["state"] != "running")
            replay.finish()
            if run["output"]["phase"] != "switched":
                raise SystemExit(f"the run did not end in a switch: {run}")
            verdicts.append(_verdict(client, arguments.to, replay))
            client.index.roll_back()
            kills += _kill_late(client, settings, endpoint, "rolling_back", draw)
            _until(client, lambda run: run["state"] != "running")
            verdicts.append(_verdict(client, DEFAULT_MODEL, replay))
    service.stop(settings, timeout_s=300)
    raw = _raw_rate(settings, arguments.to)
    _show(console, kills, verdicts)
    figures = {"texts_per_s": round(rate, 2), "raw_texts_per_s": round(raw, 2), "of_raw": round(rate / raw, 3)}
    figures |= {"chat_p95_ms": idle, "chat_p95_ms_meanwhile": meanwhile, "chat_over_idle": round(meanwhile / idle, 2)}
    console.print(figures)
    wrong = sum(verdict.missing + verdict.stale + verdict.orphaned for verdict in verdicts)
    outcomes = {"kills": [asdict(kill) for kill in kills], "verdicts": [asdict(verdict) for verdict in verdicts]}
    print(json.dumps({"benchmark": "reembedding", "to": arguments.to, "wrong": wrong, **figures, **outcomes}))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Kills every process that changes the model, at random points.")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--port", type=int, default=8125)
    parser.add_argument("--to", default="all-mpnet-base-v2")
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--turns", type=int, default=100, help="of each user")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--pause", type=float, default=20.0, help="longest wait between two kills, in seconds")
    parser.add_argument("--chat", type=float, default=30.0, help="seconds of chat, at rest and meanwhile")
    parser.add_argument("--seed", type=int, default=20)
    return parser.parse_args()


def _learn(client: Client, users: int, turns: int) -> None:
    for user in range(users):
        messages = [
            {
                "content": f"Part ZX{user:03d}-{turn:04d} is in hall {turn % 9}, 由第 {user} 組保管。",
                "turn_id": f"t{turn}",
            }
            for turn in range(turns)
        ]
        for begin in range(0, turns, 64):
            client.add(messages[begin : begin + 64], user_id=f"{_LEARNED}{user:04d}", wait=True)


def _reembedding(client: Client) -> dict[str, Any] | None:
    run: dict[str, Any] | None = plain(client.index.reembedding())
    return run


def _until(client: Client, holds: Any) -> dict[str, Any]:
    end = time.monotonic() + _WHOLE_S
    while time.monotonic() < end:
        run = _reembedding(client)
        if run is not None and holds(run):
            return run
        time.sleep(_POLL_S)
    raise SystemExit(f"nothing after {_WHOLE_S:g} s: {_reembedding(client)}")


def _undisturbed(client: Client) -> float:
    """Texts embedded and written a second, from the first batch that is there to the last: without loading."""
    first = _until(client, lambda run: run["done"] > 0 or run["state"] != "running")
    begin, before, last = time.monotonic(), first["done"], first
    at = begin
    while last["state"] == "running" and last["output"]["phase"] == "filling":
        time.sleep(_POLL_S)
        now = _reembedding(client) or last
        if now["output"]["phase"] == "filling" and now["done"] != last["done"]:
            at, last = time.monotonic(), now
        elif now["output"]["phase"] != "filling":
            break
    _until(client, lambda run: run["state"] != "running")
    if at - begin < _SHORTEST_S:
        raise SystemExit("too little to measure: give more --users or --turns")
    return float((last["done"] - before) / (at - begin))


def _kill(
    client: Client,
    settings: AppArgs,
    endpoint: Any,
    victims: Sequence[str],
    draw: random.Random,
    longest_s: float,
) -> list[Kill]:
    """Kills one after the other at random times, until all are dead or the run rests."""
    kills: list[Kill] = []
    for victim in victims:
        time.sleep(draw.uniform(0.5, longest_s))
        before = _reembedding(client)
        if before is None or before["state"] != "running":
            break
        begin = time.monotonic()
        if _strike(settings, endpoint, victim):
            _until_further(client, before)
            kills.append(_kill_at(victim, before, begin))
    return kills


def _kill_late(client: Client, settings: AppArgs, endpoint: Any, phase: str, draw: random.Random) -> list[Kill]:
    """Kills from when the run enters a phase; none where the run was through it before that was seen."""
    before = _until(client, lambda run: run["output"]["phase"] != "filling")
    if before["state"] != "running" or before["output"]["phase"] != phase:
        return []
    struck = []
    for victim in LATE_VICTIMS:
        begin = time.monotonic()
        if _strike(settings, endpoint, victim):
            struck.append((victim, begin))
        time.sleep(draw.uniform(0.2, 2.0))
    _until_further(client, before)
    return [_kill_at(victim, before, begin) for victim, begin in struck]


def _strike(settings: AppArgs, endpoint: Any, victim: str) -> bool:
    """Whether there was anybody to kill; Ray's workers change their titles, and have none for a moment then."""
    for _ in range(_LOOKS):
        if processes := [process for process in service.processes(settings, endpoint) if _is(victim, process.name)]:
            for process in processes:
                psutil.Process(process.pid).kill()
            return True
        time.sleep(_POLL_S)
    return False


def _kill_at(victim: str, before: Mapping[str, Any], begin: float) -> Kill:
    seconds = round(time.monotonic() - begin, 1)
    return Kill(victim, before["output"]["phase"], before["done"], before["total"], seconds)


def _until_further(client: Client, before: Mapping[str, Any]) -> None:
    _until(client, lambda run: _mark(run) != _mark(before))


def _mark(run: Mapping[str, Any]) -> tuple[str, str, int]:
    return run["state"], run["output"]["phase"], run["done"]


def _is(victim: str, name: str) -> bool:
    """The Embedder's replica and the pool's actors have names that hold each other."""
    return VICTIMS[victim] in name and (victim == "actor") == (VICTIMS["actor"] in name)


def _rest(client: Client) -> None:
    client.index.roll_back()
    _until(client, lambda run: run["state"] != "running")


def _verdict(client: Client, model: str, replay: Replay) -> Verdict:
    """Verifies the live generation when nothing waits any more, and changes nothing."""
    client.add([{"content": "end", "turn_id": f"end {model}"}], user_id=replay.user)
    live = client.operations.health().model
    if live != model:
        raise SystemExit(f"{live} is live, and not {model}")
    run: Any = plain(client.index.verify(mend=False))
    while run["state"] == "running":
        time.sleep(_POLL_S)
        run = plain(client.index.status())
    parts = run["report"]["collections"].values()
    counts = {name: sum(part[name] for part in parts) for name in ("checked", "missing", "stale", "orphaned")}
    return Verdict(model, len(replay.acknowledged), **counts)


def _raw_rate(settings: AppArgs, model: str) -> float:
    """Texts a second of one actor's encoder in this process, over the texts that the rate was measured with."""
    texts = asyncio.run(_texts(settings.data_home / "record.sqlite"))
    actor = EmbedActor(settings, model)
    batches = [texts[begin : begin + _RAW_BATCH] for begin in range(0, len(texts), _RAW_BATCH)]
    columns = [{"text": [text.encode() for text in batch], "place": batch, "fingerprint": batch} for batch in batches]
    actor(columns[-1])  # warms up
    begin = time.monotonic()
    for column in columns:
        actor(column)
    return len(texts) / (time.monotonic() - begin)


async def _texts(path: Path) -> list[str]:
    record = SqliteRecord.open(path)
    pages = [page async for page in walk(record) if page.user_id.startswith(_LEARNED)]
    texts = [item.dense_text for page in pages for item in page.items]
    await record.close()
    return texts


def _show(console: Console, kills: Sequence[Kill], verdicts: Sequence[Verdict]) -> None:
    tables: Sequence[tuple[str, Sequence[Kill] | Sequence[Verdict]]] = (
        ("kill -9 while the model is changed", kills),
        ("afterwards", verdicts),
    )
    for title, rows in filter(lambda table: table[1], tables):
        table = Table(title=title, title_justify="left")
        for column in asdict(rows[0]):
            table.add_column(column.replace("_", " "))
        for row in rows:
            table.add_row(*(str(value) for value in asdict(row).values()))
        console.print(table)


if __name__ == "__main__":
    main()
