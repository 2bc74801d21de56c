"""What the Embedder and the actors of bulk embedding run, built from the settings."""

import os
from dataclasses import replace

from models.assets.catalog import get_model
from models.assets.prepare import prepare_model
from models.batching.queue import GPU_LIMITS, BatchLimits
from models.encoder.batched_encoder import BatchedEncoder
from models.encoder.open_engine import open_engine

from ..config.settings import AppArgs
from ..serve.encoders import Encoders
from .generations import WantedModels


def resolve_device(device: str) -> str:
    """What `auto` means on this machine."""
    if device != "auto":
        return device
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def make_encoder(args: AppArgs) -> BatchedEncoder:
    """What the Embedder deployment runs."""
    settings = args.embedder
    device = resolve_device(settings.device)
    folder = prepare_model(args.model, args.model_cache)
    engine = open_engine(get_model(args.model), folder, device=device, threads=settings.threads or os.cpu_count())
    usual = BatchLimits() if device == "cpu" else GPU_LIMITS
    limits = replace(
        usual,
        batch_tokens=settings.batch_tokens or usual.batch_tokens,
        max_waiting_tokens=settings.max_waiting_tokens or usual.max_waiting_tokens,
    )
    return BatchedEncoder(engine, limits=limits)


def make_encoders(args: AppArgs) -> Encoders:
    """What the Embedder deployment runs: the live model, and those that the record says are needed beside it."""
    return Encoders(
        get_model(args.model).id,
        make=lambda model_id: make_encoder(args.model_copy(update={"model": model_id})),
        wanted=WantedModels(args),
    )
