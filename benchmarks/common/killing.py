"""`kill -9` of the processes of a running service by name, how long it takes until it is whole, and what it kept."""

import contextlib
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import psutil

from deployments.config.settings import AppArgs
from deployments.host.supervisor import Endpoint
from jiyi import Client, ClientError, service
from storage.sqlite.record import SqliteRecord

SESSION_SERVER = "redis"
LONGEST_RECOVERY_S = 240.0
_IN_A_ROW = 3
_LOOK_S = 0.2
_ALL = 10_000_000


class NotRecovered(Exception):
    """A part of the service does not answer long after a kill."""


def is_victim(victim: str, name: str) -> bool:
    """Whether a process of this name is meant: a deployment, a process of Ray, or `redis`."""
    return name in ("redis-server", "valkey-server") if victim == SESSION_SERVER else victim in name


def kill(settings: AppArgs, endpoint: Endpoint, victim: str) -> float:
    """Ends all processes of a name at once; returns when (monotonic).

    Raises:
        LookupError: There is none.
    """
    victims = [process for process in service.processes(settings, endpoint) if is_victim(victim, process.name)]
    if not victims:
        raise LookupError(f"no process is called {victim}")
    killed_at = time.monotonic()
    for process in victims:
        with contextlib.suppress(psutil.NoSuchProcess):
            psutil.Process(process.pid).kill()
    return killed_at


def recovery_s(url: str, begin: float, *, limit_s: float = LONGEST_RECOVERY_S) -> float:
    """Seconds from `begin` (monotonic) until every part answers, three times in a row: a dead part may answer once
    more from a queue.

    Raises:
        NotRecovered: It takes longer than the limit.
    """
    in_a_row = 0
    first_s = 0.0
    with Client(url, patience_s=0, timeout_s=10) as client:
        while in_a_row < _IN_A_ROW:
            away = _away(client)
            in_a_row = 0 if away else in_a_row + 1
            elapsed_s = time.monotonic() - begin
            if in_a_row == 1:
                first_s = elapsed_s
            if elapsed_s > limit_s:
                raise NotRecovered(f"not recovered after {limit_s:g} s: {away}")
            time.sleep(_LOOK_S)
    return first_s


def _away(client: Client) -> str:
    """What does not answer; empty where the service is whole."""
    try:
        if not client.is_ready():
            return "not ready"
        parts = client.operations.health().parts
    except ClientError as error:
        return repr(error)
    return ", ".join(name for name, part in parts.items() if part["status"] != "ok")


async def stored_texts(home: Path, users: Iterable[str]) -> tuple[Counter[str], Counter[str]]:
    """How often each text is in the raw log, and how often among the memories, of all these users."""
    record = SqliteRecord.open(home / "record.sqlite")
    logged: Counter[str] = Counter()
    remembered: Counter[str] = Counter()
    for user_id in users:
        async with record.reading(user_id=user_id) as unit:
            logged.update(resource.content for resource in await unit.log.list(limit=_ALL))
            remembered.update(memory.text for memory in await unit.memories.recent(limit=_ALL))
    await record.close()
    return logged, remembered
