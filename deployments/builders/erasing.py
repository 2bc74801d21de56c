"""Builds erasure: over every store, and over what the replicas hold in memory."""

import asyncio
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from ray import serve
from ray.serve.handle import DeploymentHandle

from memory.erasure.decisions import Deciding
from memory.erasure.eraser import Eraser
from memory.erasure.requests import Digests
from memory.erasure.service import Erasing
from memory.erasure.tombstones import TombstoneFile
from memory.ports.stores.generations import GenerationStore
from memory.ports.stores.record import SystemOfRecord
from storage.redis.sessions import RedisSessions

from ..config.settings import AppArgs
from ..remote.erasures import RemoteReplicaMemory
from ..remote.handles import Handle, Remote
from .models.language import is_on
from .storage.stores import open_journal, open_redis

_DEADLINE_S = 30.0
_KEY_BYTES = 32


def make_erasing(
    args: AppArgs,
    *,
    record: SystemOfRecord,
    vectors: GenerationStore,
    lock: Callable[[str], asyncio.Lock],
    embedder: Handle,
    extractor: Handle,
) -> Erasing:
    """Erasure as the Learner does it, in whose process nothing is learned of a user meanwhile.

    Args:
        args: The settings.
        record: The system of record.
        vectors: The vectors of all models.
        lock: The lock of a user's learning and indexing.
        embedder: The handle of the Embedder.
        extractor: The handle of the Extractor.
    """
    eraser = Eraser(
        record=record,
        journal=open_journal(args),
        sessions=RedisSessions(open_redis(args)),
        vectors=vectors,
        replicas=_replica_memory(args, embedder=embedder, extractor=extractor),
        lock=lock,
    )
    return Erasing(
        record=record,
        eraser=eraser,
        digests=Digests(erasure_key(args)),
        file=TombstoneFile(args.data_home / "erasures.jsonl"),
        settle_s=args.erasure.settle_s,
    )


def make_deciding(
    args: AppArgs, *, record: SystemOfRecord, lock: Callable[[str], asyncio.Lock], erasing: Erasing
) -> Deciding:
    """Decisions about memories as the Learner carries them out; `erasing` does the rest of them."""
    return Deciding(record=record, digests=Digests(erasure_key(args)), lock=lock, wake=erasing.wake)


def erasure_key(args: AppArgs) -> bytes:
    """The key of the digests in receipts: that of the settings, else one that is made once and kept in the home."""
    if args.erasure.key is not None:
        return args.erasure.key.get_secret_value().encode()
    file = args.data_home / "erasure.key"
    try:
        return _read_key(file)
    except FileNotFoundError:
        args.data_home.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_text(secrets.token_hex(_KEY_BYTES))
    try:
        os.link(draft, file)  # unlike a rename, this leaves the key of another process that was faster
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return _read_key(file)


def _read_key(file: Path) -> bytes:
    return file.read_text().strip().encode()


def _replica_memory(args: AppArgs, *, embedder: Handle, extractor: Handle) -> RemoteReplicaMemory:
    """The other deployments, those that the Learner does not depend on by their names."""
    names = ["Resolver", "Retriever", *(["Reranker"] if is_on(args, "reranker") else [])]
    if is_on(args, "answers") and args.models.answers_apart:
        names.append("Answers")
    handles = {"Embedder": embedder, "Extractor": extractor} | {name: _handle(name) for name in names}
    return RemoteReplicaMemory(
        ingress=_remote("Ingress", _handle("Ingress")), others=[_remote(*item) for item in handles.items()]
    )


def _handle(name: str) -> Handle:
    handle: Handle = DeploymentHandle(name, serve.get_replica_context().app_name)
    return handle


def _remote(name: str, handle: Handle) -> Remote:
    return Remote(handle, component=name.lower(), deadline_s=_DEADLINE_S)
