"""What the Embedder runs, and how many replicas of it fit.

Serve asks Ray for the cores of each replica and waits without end where no machine has them (the deployment stays
`UPSCALING`), so the bounds of scaling are taken from the machines of the cluster.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from models.assets.catalog import get_model
from models.assets.prepare import prepare_model
from models.batching.queue import GPU_LIMITS, BatchLimits
from models.encoder.batched_encoder import BatchedEncoder
from models.encoder.open_engine import open_engine

from ...config.model_settings import EmbedderArgs
from ...config.settings import AppArgs
from ...serve.encoders import Encoders
from ..storage.spaces import WantedModels

_log = structlog.get_logger(__name__)
_MOST_THREADS = 8
"""A batch of some thousand tokens keeps no more threads busy; on a larger machine more replicas use the others."""

Resources = Mapping[str, float]
"""Ray's resources of one machine of the cluster: `CPU`, `GPU`."""


def resolve_device(device: str) -> str:
    """`cpu` or `cuda`; `auto` depends on this machine."""
    if device != "auto":
        return device
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def make_encoder(args: AppArgs) -> BatchedEncoder:
    """The encoder of one model with its batcher; the pool for bulk work runs it too."""
    settings = args.embedder
    device = resolve_device(settings.device)
    folder = prepare_model(args.model, args.model_cache)
    engine = open_engine(get_model(args.model), folder, device=device, threads=settings.threads or os.cpu_count())
    defaults = BatchLimits() if device == "cpu" else GPU_LIMITS
    limits = replace(
        defaults,
        batch_tokens=settings.batch_tokens or defaults.batch_tokens,
        max_waiting_tokens=settings.max_waiting_tokens or defaults.max_waiting_tokens,
    )
    return BatchedEncoder(engine, limits=limits)


def make_encoders(args: AppArgs) -> Encoders:
    """Builds the Embedder's models: the live model, and the other models that the record names."""
    return Encoders(
        get_model(args.model).id,
        make=lambda model_id: make_encoder(args.model_copy(update={"model": model_id})),
        wanted=WantedModels(args),
    )


@dataclass(frozen=True)
class Placement:
    """What one Embedder replica asks for, and how many there may be.

    Attributes:
        threads: Torch threads of a replica; as many cores are asked for.
        gpus: Share of a GPU; 0 where it computes on the CPU.
        max_replicas: The upper bound of scaling.
        surge: Whether there is always room for one more, so that an update may start the new replica before it ends
            the old one.
    """

    threads: int
    gpus: float
    max_replicas: int
    surge: bool


def place_embedder(settings: EmbedderArgs, machines: Sequence[Resources]) -> Placement:
    """Fits the Embedder to the machines; what the settings give is kept, with a warning where it does not fit.

    Args:
        settings: The Embedder's settings.
        machines: All machines of the cluster.
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
            advice="Replicas beyond `fitting` wait until the cluster grows: lower embedder.max_replicas or .threads",
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
