"""Where Embedder replicas fit: their threads, their share of a GPU, and how many of them the cluster can hold.

Serve asks Ray for the cores of each replica and waits for ever for those that no machine has (a deployment that stays
`UPSCALING`), so the bounds are drawn here, from the machines that there are.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog

from ..config.settings import EmbedderArgs

_MOST_THREADS = 8
"""A batch of some thousand tokens keeps no more threads busy; on a larger machine further replicas use the others."""
_log = structlog.get_logger(__name__)

Resources = Mapping[str, float]
"""What one machine of the cluster has, as Ray counts it: `CPU`, `GPU`."""


@dataclass(frozen=True)
class Placement:
    """What one Embedder replica asks for, and how many there may be.

    Attributes:
        threads: Torch threads of a replica; as many cores are asked for.
        gpus: Share of a GPU; 0 where it computes on the CPU.
        max_replicas: The upper bound of scaling.
        surge: Whether there is always room for one more, so that an update may start the new before it ends the old.
    """

    threads: int
    gpus: float
    max_replicas: int
    surge: bool


def place_embedder(settings: EmbedderArgs, machines: Sequence[Resources]) -> Placement:
    """Fits the Embedder to the machines; what the settings say stands, and is warned about where it does not fit.

    Args:
        settings: The Embedder's settings.
        machines: All machines of the cluster as it is now.
    """
    cores = int(max(machine.get("CPU", 0) for machine in machines))
    threads = settings.threads or max(1, min(cores, _MOST_THREADS))
    on_gpu = settings.device == "cuda" or (
        settings.device == "auto" and any(machine.get("GPU", 0) >= settings.gpus for machine in machines)
    )
    gpus = settings.gpus if on_gpu else 0.0
    fitting = sum(_fitting(machine, threads, gpus) for machine in machines)
    max_replicas = settings.max_replicas or max(fitting, settings.min_replicas)
    if max_replicas > fitting:
        _log.warning(
            "embedder_replicas_do_not_fit",
            max_replicas=max_replicas,
            fitting=fitting,
            threads=threads,
            gpus=gpus,
            advice="replicas beyond `fitting` wait until the cluster grows: lower embedder.max_replicas or .threads",
        )
    return Placement(threads, gpus, max_replicas, surge=fitting > max_replicas)


def cluster_machines() -> Sequence[Resources]:
    """The machines of the Ray cluster that this process is connected to; this machine alone where it is not."""
    import ray

    if not ray.is_initialized():
        return [{"CPU": float(os.cpu_count() or 1)}]
    nodes = ray.nodes()
    return [node["Resources"] for node in nodes if node["Alive"]]


def _fitting(machine: Resources, threads: int, gpus: float) -> int:
    by_cores = int(machine.get("CPU", 0) // threads)
    return min(by_cores, int(machine.get("GPU", 0) / gpus)) if gpus else by_cores
