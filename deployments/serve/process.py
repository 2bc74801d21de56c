"""A replica's process: its logs, and its memory."""

import ctypes
import os
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from ..config.private_files import keep_private
from ..config.settings import AppArgs
from ..telemetry.logs import configure_logs

T = TypeVar("T")

_MATRIX_CODE = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "256", "LRU_CACHE_CAPACITY": "16"}
"""Bounds of oneDNN's and torch's caches of the code that is compiled for each shape of a matrix product: 0.3 MiB an
entry in each, up to 1,024 entries by default. Torch's gains nothing beside oneDNN's (measured: the same CPU time)."""
_M_ARENA_MAX = -8
_ARENAS = 2
_TRIM_EVERY_S = 30.0


def open_in_replica(args: AppArgs, process: str, make: Callable[[], T]) -> T:
    """Configures the logs and bounds the memory of a Serve replica, then makes what it runs."""
    from ray import serve

    keep_private()
    replica = serve.get_replica_context().replica_id.unique_id
    configure_logs(args.log_folder, process, args.log_level, replica=replica)
    bound_memory()
    return make()


def bound_memory() -> None:
    """Keeps what a process holds close to what it uses; to be called before anything imports torch.

    glibc gives threads heaps of their own and keeps what torch frees in them: batches of ever other shapes leave each
    heap as large as its largest batch was. Here threads share two heaps, and what is free goes back to the system twice
    a minute. Without glibc only torch's caches are bounded.
    """
    for name, value in _MATRIX_CODE.items():
        os.environ.setdefault(name, value)
    library = ctypes.CDLL(None)
    try:
        library.mallopt(_M_ARENA_MAX, _ARENAS)
        trim = library.malloc_trim
    except AttributeError:
        return
    threading.Thread(target=_trim_forever, args=(trim,), name="memory-trimmer", daemon=True).start()


def _trim_forever(trim: Callable[[int], int]) -> None:
    while True:
        time.sleep(_TRIM_EVERY_S)
        trim(0)
