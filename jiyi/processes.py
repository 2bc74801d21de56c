"""The processes of a running service and the memory they hold."""

from collections.abc import Iterable
from dataclasses import dataclass

import psutil

_MIB = 1024 * 1024


@dataclass(frozen=True)
class ProcessMemory:
    """One process: what it is, and its memory in MiB: resident, and its proportional share of shared pages."""

    pid: int
    name: str
    rss_mib: float
    pss_mib: float


def memory_of(processes: Iterable[psutil.Process]) -> list[ProcessMemory]:
    """The memory of each process that still lives."""
    found = []
    for process in processes:
        try:
            memory = process.memory_full_info()
            found.append(ProcessMemory(process.pid, _name(process), memory.rss / _MIB, memory.pss / _MIB))
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue  # ended while we looked
    return found


def _name(process: psutil.Process) -> str:
    """What a person would call it: Ray names its workers in their command line."""
    command = process.cmdline()
    if not command:
        return process.name()
    if command[0].startswith("ray::"):
        return command[0].removeprefix("ray::")
    for part in command[1:4]:
        if part.startswith("deployments.") or part.endswith(".py"):
            return part.rsplit("/", 1)[-1]
    return process.name()
