"""What a user sees while a store fails: each store, each fault, over HTTP, with what was acknowledged counted after.

Theory: a turn waits for a failing store once, up to its deadline (record 5 s, vectors 4 s, Redis 1 s), and then not at
all, since the circuit is open; only a record that nothing stands in for (SQLite) refuses the turn, with 503. After the
fault, everything answers again within the circuits' 2 s and a probe's second; nothing acknowledged is lost or doubled.

    python -m benchmarks.faults [--home FOLDER] [--stores embedded servers]

Starts services of its own and ends them. The last line is JSON.
"""

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.faults.world import Fault, World, embedded_world, servers_world
from jiyi.client import JiyiClient, JiyiRefused

WORLDS = {"embedded": embedded_world, "servers": servers_world}
_TURNS = 4
_WHOLE_S = 90.0
_PAUSE_S = 0.2


@dataclass(frozen=True)
class Outcome:
    """What one fault did.

    Attributes:
        statuses: Of the turns that were sent during the fault, in order.
        seconds: How long each took.
        degraded: What the replies said they had to do without.
        resolved: How many of the acknowledged turns had their reference resolved.
        health: What `/health/detailed` named as not ok.
        explained: What it said of one of them.
        whole_s: From the end of the fault until all was well again.
        lost: Acknowledged turns that are not there afterwards.
        doubled: Those that were learned more than once.
    """

    store: str
    fault: str
    statuses: tuple[int, ...]
    seconds: tuple[float, ...]
    degraded: tuple[str, ...]
    resolved: int
    health: tuple[str, ...]
    explained: str
    whole_s: float
    lost: int
    doubled: int

    @property
    def acknowledged(self) -> int:
        """How many turns were acknowledged."""
        return self.statuses.count(200)


def observe(world: World, fault: Fault) -> Outcome:
    """Sends turns while a fault lasts, and looks afterwards for what was acknowledged."""
    user = f"{fault.store}, {fault.name}, {time.time()}"
    with JiyiClient(world.url, timeout_s=30) as client, JiyiClient(world.url, patience_s=_WHOLE_S) as patient:
        patient.chat("我們買了 AI-Box。", user_id=user, wait=True)
        fault.inject()
        try:
            turns = [_turn(client, user, number) for number in range(_TURNS)]
            parts = client.health()["parts"]
        finally:
            fault.heal()
        not_ok = {name: part for name, part in parts.items() if part["status"] != "ok"}
        whole_s = _until_whole(client, user)
        lost, doubled = _missing(patient, user, [n for n, turn in enumerate(turns) if turn.status == 200])
    return Outcome(
        fault.store,
        fault.name,
        statuses=tuple(turn.status for turn in turns),
        seconds=tuple(round(turn.seconds, 2) for turn in turns),
        degraded=tuple(sorted({part for turn in turns for part in turn.degraded})),
        resolved=sum(turn.resolved for turn in turns),
        health=tuple(sorted(not_ok)),
        explained=next((str(part["error"]) for part in not_ok.values() if "error" in part), ""),
        whole_s=round(whole_s, 1),
        lost=lost,
        doubled=doubled,
    )


@dataclass(frozen=True)
class _Turn:
    status: int
    seconds: float
    degraded: tuple[str, ...] = ()
    resolved: bool = False


def _turn(client: JiyiClient, user: str, number: int) -> _Turn:
    begin = time.monotonic()
    try:
        reply = client.chat(f"它放在料號 {_code(number)} 旁邊。", user_id=user, turn_id=f"t{number}")
    except JiyiRefused as error:
        return _Turn(error.status, time.monotonic() - begin)
    except httpx.TimeoutException:
        return _Turn(0, time.monotonic() - begin)
    seconds = time.monotonic() - begin
    return _Turn(200, seconds, tuple(reply["degraded"]), "AI-Box" in reply["resolved_query"])


def _code(number: int) -> str:
    return f"ZX{number:04d}-77"


def _until_whole(client: JiyiClient, user: str) -> float:
    begin = time.monotonic()
    while not _is_whole(client, user):
        if time.monotonic() - begin > _WHOLE_S:
            raise SystemExit(f"not whole after {_WHOLE_S:g} s: {client.health()}")
        time.sleep(_PAUSE_S)
    return time.monotonic() - begin


def _is_whole(client: JiyiClient, user: str) -> bool:
    well = client.is_ready() and client.health()["status"] == "ok"
    return well and not client.search("AI-Box", user_id=user)["degraded"]


def _missing(client: JiyiClient, user: str, numbers: list[int]) -> tuple[int, int]:
    """How many of these turns are not there, and how many were learned more than once."""
    while client.add([{"content": "好的。", "turn_id": "end"}], user_id=user)["learned"] is None:
        time.sleep(_PAUSE_S)
    mentions = Counter({e["entity_value"]: e["mention_count"] for e in client.entities(user_id=user, limit=100)})
    lost = 0
    for number in numbers:
        hits = client.search(_code(number), user_id=user, top_k=5, kinds=["memory"])["results"]
        lost += not any(_code(number) in hit["text"] for hit in hits)
    return lost, sum(mentions[_code(number)] > 1 for number in numbers)


def outcomes(world: World) -> Iterator[Outcome]:
    """One fault after the other."""
    for fault in world.faults:
        yield observe(world, fault)


def table(found: list[Outcome]) -> Table:
    """What a user saw, a row a fault."""
    shown = Table(title="What a user sees while a store fails", title_justify="left")
    for column in ("store", "fault", "replies", "seconds", "done without", "resolved", "not ok", "whole, s", "lost"):
        shown.add_column(column)
    for one in found:
        shown.add_row(
            one.store,
            one.fault,
            " ".join(map(str, one.statuses)),
            " ".join(f"{seconds:g}" for seconds in one.seconds),
            ", ".join(one.degraded) or "nothing",
            f"{one.resolved}/{one.acknowledged}",
            ", ".join(one.health),
            f"{one.whole_s:g}",
            f"{one.lost}, {one.doubled} doubled",
        )
    return shown


def main() -> None:
    """Runs every fault and prints a table, what health said, and one JSON line."""
    parser = argparse.ArgumentParser(description="Fails every store in every way.")
    parser.add_argument("--home", type=Path)
    parser.add_argument("--stores", nargs="*", choices=WORLDS, default=list(WORLDS))
    arguments = parser.parse_args()
    console = Console(width=200)
    found: dict[str, list[Outcome]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.stores:
            found[name] = []
            with WORLDS[name]((arguments.home or Path(folder)) / name) as world, Progress(console=console) as progress:
                for outcome in progress.track(outcomes(world), total=len(world.faults), description=name):
                    found[name].append(outcome)
            console.print(table(found[name]))
            for outcome in found[name]:
                console.print(f"{outcome.store}, {outcome.fault}: {outcome.explained}", soft_wrap=True)
    rows = [{"stores": name, **asdict(outcome)} for name, all_ in found.items() for outcome in all_]
    print(json.dumps({"benchmark": "faults", "outcomes": rows}, ensure_ascii=False))


if __name__ == "__main__":
    main()
