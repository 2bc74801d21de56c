"""What to do about a service that does not answer: wait while it is busy, restart the part that is stuck, or all.

A busy event loop is not death: a process that computes, or that gets no core, will answer. So silence alone restarts
nothing. A part is dead if its process is gone and does not come back, or if it stands still: it does not answer, has
work to do and uses no CPU time while the machine has some to give. Ray and Serve start a part that was killed again.
"""

import contextlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import psutil


class Part(StrEnum):
    """A process that a request needs."""

    HAPROXY = "haproxy"
    INGRESS = "Ingress"
    PROXY = "ProxyActor"
    HAPROXY_MANAGER = "HAProxyManager"
    CONTROLLER = "ServeController"


SILENT_S = 30.0
"""Seconds without an answer after which something is done about a part that stands still."""
_STUCK_BUSY_S = 300.0
"""Seconds after which a part that only computes and never answers counts as stuck, too."""
_GONE_S = 90.0
"""Seconds that Ray and Serve have to start a process again."""
_GRACE_S = 60.0
"""Seconds that a restarted part has to answer before the next one is restarted."""
_BUSY_CORES = 0.1
_SATURATED = 0.9
_TITLE = re.compile(r"ray::(?:(ProxyActor|HAProxyManager|ServeController)|.*ServeReplica:\w+:(Ingress))(\.\w+)?\s*$")
"""A title ends with the method that runs."""
_ORDER = (Part.INGRESS, Part.HAPROXY, Part.HAPROXY_MANAGER, Part.PROXY, Part.CONTROLLER)


@dataclass(frozen=True)
class Observation:
    """What was seen of the service at one moment.

    Attributes:
        at_s: Monotonic time.
        answers: Whether it answered a request for its liveness.
        ingress_answers: Whether the ingress answers by itself, past HAProxy; asked only where it is silent.
        cpu_s: CPU seconds so far of every process by its id, for each part that runs.
        machine_busy: Share of the machine's cores that were busy since the last observation.
    """

    at_s: float
    answers: bool
    ingress_answers: bool
    cpu_s: dict[Part, dict[int, float]]
    machine_busy: float


@dataclass(frozen=True)
class Wait:
    """Nothing is to be done; `reason` is empty where all is well."""

    reason: str = ""


@dataclass(frozen=True)
class RestartPart:
    """These processes of one part are to be killed: they are started again by Ray."""

    part: Part
    pids: Sequence[int]
    reason: str


@dataclass(frozen=True)
class RestartAll:
    """The whole cluster is to be started again."""

    reason: str


Verdict = Wait | RestartPart | RestartAll


@dataclass
class Diagnosis:
    """Follows a service from one observation to the next."""

    _answered_s: float | None = None
    _acted_s: float = float("-inf")
    _seen_s: dict[Part, float] = field(default_factory=dict)
    _before: Observation | None = None
    _restarted: list[Part] = field(default_factory=list)

    def judge(self, observation: Observation) -> Verdict:
        """What to do after this observation."""
        before, self._before = self._before, observation
        for part in observation.cpu_s:
            self._seen_s[part] = observation.at_s
        if observation.answers or self._answered_s is None or before is None:
            self._answered_s = observation.at_s
            self._restarted.clear()
            return Wait()
        silent_s = observation.at_s - self._answered_s
        if observation.at_s - self._seen_s.get(Part.CONTROLLER, observation.at_s) > _GONE_S:
            return RestartAll(f"{Part.CONTROLLER} is gone and was not started again within {_GONE_S:g} s")
        if silent_s < SILENT_S or observation.at_s - self._acted_s < _GRACE_S:
            return Wait(f"no answer for {silent_s:.0f} s")
        if silent_s < _STUCK_BUSY_S and (reason := _busy(before, observation)):
            return Wait(f"no answer for {silent_s:.0f} s, but {reason}")
        suspects = _ORDER[1:] if observation.ingress_answers else _ORDER
        left = [part for part in suspects if part in observation.cpu_s and part not in self._restarted]
        if not left:
            return RestartAll(f"no answer for {silent_s:.0f} s although every part was restarted")
        self._restarted.append(left[0])
        self._acted_s = observation.at_s
        return RestartPart(
            left[0], tuple(observation.cpu_s[left[0]]), f"no answer for {silent_s:.0f} s, and it stands still"
        )


def _busy(before: Observation, observation: Observation) -> str:
    """Why the service may yet answer; empty where it stands still."""
    seconds = max(observation.at_s - before.at_s, 1e-3)
    if observation.machine_busy >= _SATURATED:
        return f"the machine is {observation.machine_busy:.0%} busy"
    for part, processes in observation.cpu_s.items():
        if observation.ingress_answers and part is Part.INGRESS:
            continue
        used_s = sum(cpu_s - before.cpu_s.get(part, {}).get(pid, 0.0) for pid, cpu_s in processes.items())
        if part is Part.INGRESS and used_s / seconds >= _BUSY_CORES:
            return f"{part} computes ({used_s / seconds:.1f} cores)"
        if part not in before.cpu_s or not processes.keys() <= before.cpu_s[part].keys():
            return f"{part} has just started"
    return ""


def parts_of(processes: Iterable[psutil.Process]) -> dict[Part, dict[int, float]]:
    """CPU seconds of the processes that a request needs, by part and process id; without those that still start."""
    cpu_s: dict[Part, dict[int, float]] = {}
    for process in processes:
        with contextlib.suppress(psutil.Error):
            part = part_of((process.cmdline() or [""])[0])
            if part is not None:
                times = process.cpu_times()
                cpu_s.setdefault(part, {})[process.pid] = times.user + times.system
    return cpu_s


def part_of(title: str) -> Part | None:
    """The part that a process is, by the first word of its command line, which Ray makes its title."""
    if title.endswith("/haproxy"):
        return Part.HAPROXY
    found = _TITLE.match(title)
    return Part(found[1] or found[2]) if found and found[3] != ".__init__" else None
