"""Sends turns during a fault, and counts afterwards which acknowledged turns are stored."""

import time
from collections import Counter
from dataclasses import dataclass

from jiyi import Client
from jiyi.errors import Refused, Unreachable

from .services import BreakableService, Fault

_TURNS = 4
_LONGEST_RECOVERY_S = 90.0
_PAUSE_S = 0.2
_TRIES = 50


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
        recovery_s: From the end of the fault until every part answered again.
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
    recovery_s: float
    lost: int
    doubled: int

    @property
    def acknowledged(self) -> int:
        """The number of acknowledged turns."""
        return self.statuses.count(200)


def observe(service: BreakableService, fault: Fault) -> Outcome:
    """Sends turns while a fault lasts, and looks afterwards for what was acknowledged."""
    user = f"{fault.store}, {fault.name}, {time.time()}"
    with (
        Client(service.url, patience_s=0, timeout_s=30) as client,
        Client(service.url, patience_s=_LONGEST_RECOVERY_S) as patient,
    ):
        patient.chat("我們買了 AI-Box。", user_id=user, wait=True)
        fault.inject()
        try:
            turns = [_turn(client, user, number) for number in range(_TURNS)]
            parts = client.operations.health().parts
        finally:
            fault.heal()
        not_ok = {name: part for name, part in parts.items() if part["status"] != "ok"}
        recovery_s = _time_recovery(client, user)
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
        recovery_s=round(recovery_s, 1),
        lost=lost,
        doubled=doubled,
    )


@dataclass(frozen=True)
class _Turn:
    status: int
    seconds: float
    degraded: tuple[str, ...] = ()
    resolved: bool = False


def _turn(client: Client, user: str, number: int) -> _Turn:
    begin = time.monotonic()
    try:
        reply = client.chat(f"它放在料號 {_code(number)} 旁邊。", user_id=user, turn_id=f"t{number}")
    except Refused as error:
        return _Turn(error.status, time.monotonic() - begin)
    except Unreachable:
        return _Turn(0, time.monotonic() - begin)
    seconds = time.monotonic() - begin
    return _Turn(200, seconds, reply.degraded, "AI-Box" in reply.resolved_query)


def _code(number: int) -> str:
    return f"ZX{number:04d}-77"


def _time_recovery(client: Client, user: str) -> float:
    begin = time.monotonic()
    while not _has_recovered(client, user):
        if time.monotonic() - begin > _LONGEST_RECOVERY_S:
            raise SystemExit(f"not recovered after {_LONGEST_RECOVERY_S:g} s: {client.operations.health()}")
        time.sleep(_PAUSE_S)
    return time.monotonic() - begin


def _has_recovered(client: Client, user: str) -> bool:
    well = client.is_ready() and client.operations.health().status == "ok"
    return well and not client.search("AI-Box", user_id=user).degraded


def _missing(client: Client, user: str, numbers: list[int]) -> tuple[int, int]:
    """The number of missing turns, and of turns learned more than once."""
    while client.add([{"content": "好的。", "turn_id": "end"}], user_id=user).learned is None:
        time.sleep(_PAUSE_S)
    mentions = Counter(
        {
            entity.entity_value: entity.mention_count
            for entity in client.entities.recent(user_id=user, limit=100).results
        }
    )
    lost = 0
    for number in numbers:
        for _ in range(_TRIES):  # a part that has just come back may miss a deadline on a busy machine
            reply = client.search(_code(number), user_id=user, top_k=5, kinds=["memory"])
            if not reply.degraded:
                break
            time.sleep(_PAUSE_S)
        lost += not any(_code(number) in hit.text for hit in reply.results)
    return lost, sum(mentions[_code(number)] > 1 for number in numbers)
