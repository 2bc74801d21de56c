"""`kill -9` of every process of the service in turn, during a replay: what is lost, and how long until it is whole.

Theory: what is acknowledged is in the raw log before the reply leaves, so nothing acknowledged may be lost whatever
dies. A replica is back when a new process has imported Ray and its own code (about 3 s on an idle core, the Embedder
about 10 s for torch and the weights); the session server in a fraction of a second; the loss of a head process costs
a start of the whole cluster.

    python -m benchmarks.survival --home FOLDER [--port 8124] [--seconds 6]

Starts a service of its own in FOLDER and ends it. The last line is JSON.
"""

import argparse
import asyncio
import json
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.common.killing import LONGEST_RECOVERY_S, SESSION_SERVER, kill, recovery_s, stored_texts
from jiyi import Client, service

VICTIMS = (
    *("Embedder", "VectorShard", "Extractor", "Resolver", "Retriever", "Learner", "SessionServer", "Ingress"),
    *(SESSION_SERVER, "ProxyActor", "ServeController", "raylet", "gcs_server", "supervisor"),
)
_LOOKED_UP = 10
_PAUSE_S = 0.05


@dataclass(frozen=True)
class Outcome:
    """What one kill did.

    Attributes:
        acknowledged: Turns acknowledged while it happened.
        lost: Of these, those that are not there, or not found, afterwards.
        doubled: Those that are there more than once.
        longest_wait_s: The longest that one turn had to wait for its acknowledgement.
        recovery_s: From the kill until every part answered.
    """

    victim: str
    acknowledged: int
    lost: int
    doubled: int
    longest_wait_s: float
    recovery_s: float


class Replay(threading.Thread):
    """Sends numbered turns, one after the other, until it is told to stop."""

    def __init__(self, url: str, user: str) -> None:
        super().__init__(daemon=True)
        self._url, self.user = url, user
        self._stop_asked = threading.Event()
        self.acknowledged: dict[int, str] = {}
        self.longest_wait_s = 0.0

    def run(self) -> None:
        """Sends until `finish`."""
        number = 0
        with Client(self._url, patience_s=LONGEST_RECOVERY_S, timeout_s=30) as client:
            while not self._stop_asked.is_set():
                begin = time.monotonic()
                message = {"content": _turn(number), "turn_id": f"t{number}"}
                reply = client.add([message], user_id=self.user, wait=False)
                self.acknowledged[number] = reply.results[0].id
                self.longest_wait_s = max(self.longest_wait_s, time.monotonic() - begin)
                number += 1
                time.sleep(_PAUSE_S)

    def finish(self) -> None:
        """Stops after the turn under way."""
        self._stop_asked.set()
        self.join()


def main() -> None:
    """Kills each victim and prints a table and one JSON line."""
    arguments = _arguments()
    console = Console()
    settings = service.load_settings(arguments.home)
    service.prepare(settings)

    def up() -> Any:
        return service.start(settings, host="127.0.0.1", port=arguments.port, timeout_s=300, on_wait=lambda _: None)

    endpoint = up()
    outcomes = []
    for victim in arguments.victims or VICTIMS:
        console.print(f"killing {victim}")
        replay = Replay(endpoint.url, f"victim {victim} {time.time()}")
        replay.start()
        time.sleep(arguments.seconds)
        begin = kill(settings, endpoint, victim)
        if victim == "supervisor":  # nobody watches it: a user (or systemd) starts it again
            endpoint = up()
        recovered_s = recovery_s(endpoint.url, begin)
        time.sleep(arguments.seconds / 2)
        replay.finish()
        outcomes.append(_verify(endpoint.url, settings.data_home, victim, replay, recovered_s))
    service.stop(settings, timeout_s=120)
    _show(console, outcomes)
    print(json.dumps({"benchmark": "survival", "outcomes": [asdict(outcome) for outcome in outcomes]}))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Kills every process of the service in turn.")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--port", type=int, default=8124)
    parser.add_argument("--victims", nargs="*", help="only these")
    parser.add_argument("--seconds", type=float, default=6.0)
    return parser.parse_args()


def _verify(url: str, home: Path, victim: str, replay: Replay, recovered_s: float) -> Outcome:
    """Counts every acknowledged turn in the system of record, and looks the last ones up as a user would."""
    with Client(url, patience_s=60) as client:
        client.add([{"content": "end", "turn_id": "end"}], user_id=replay.user)  # waits until all is learned
        unfound = 0
        for number, id_ in list(replay.acknowledged.items())[-_LOOKED_UP:]:
            hits = client.search(f"ZX{number:04d}-77", user_id=replay.user, top_k=5, kinds=["memory"]).results
            unfound += id_ not in [hit.id for hit in hits]
    _, texts = asyncio.run(stored_texts(home, [replay.user]))
    lost = sum(_turn(number) not in texts for number in replay.acknowledged)
    doubled = sum(count > 1 for count in texts.values())
    return Outcome(
        victim,
        acknowledged=len(replay.acknowledged),
        lost=lost + unfound,
        doubled=doubled,
        longest_wait_s=round(replay.longest_wait_s, 1),
        recovery_s=round(recovered_s, 1),
    )


def _turn(number: int) -> str:
    return f"料號 ZX{number:04d}-77 在第 {number} 號倉庫。"


def _show(console: Console, outcomes: list[Outcome]) -> None:
    table = Table(title="kill -9 during a replay", title_justify="left")
    for column in ("process", "acknowledged", "lost", "doubled", "longest wait, s", "recovered after, s"):
        table.add_column(column, justify="left" if column == "process" else "right")
    for outcome in outcomes:
        table.add_row(*(str(value) for value in asdict(outcome).values()))
    console.print(table)


if __name__ == "__main__":
    main()
