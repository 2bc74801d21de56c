"""Writes the sessions of the local server anew with another key, or with none."""

import time
from pathlib import Path
from typing import Any

from redis import Redis
from redis.exceptions import RedisError

from memory.values.errors import StoreUnavailable

from ..shared.encryption import Cipher, mark_folder
from .client import explain
from .entries import ENTRY_PARTS, SessionEntries
from .scripts import PREFIX
from .server import LocalRedisServer

_POLL_S = 0.02
_REWRITE_S = 300.0


def rekey_sessions(folder: Path, old: Cipher, new: Cipher) -> None:
    """Encrypts every entry with another key, has the server write its append-only file anew, and deletes older files.

    Sessions keep their time to live. One with an entry that neither key can read is deleted. Killed at any moment it
    leaves entries of both keys and a folder that the service refuses; repeated with the same keys, it goes on.

    Raises:
        StoreUnavailable: A process uses the folder, or the server cannot run.
    """
    server = LocalRedisServer(folder)
    server.start()
    try:
        if not server.owned:
            raise StoreUnavailable(f"{folder} belongs to another process, which must end first.", component="sessions")
        mark_folder(folder, None)
        with Redis.from_url(server.url) as client:
            # The key that authenticates comes first: anything at all can be read as being in clear.
            readers = [
                SessionEntries(cipher) for cipher in sorted((old, new), key=lambda cipher: not cipher.fingerprint)
            ]
            for key in list(client.scan_iter(match=f"{PREFIX}*")):
                _rekey(client, key, readers, SessionEntries(new))
            _rewrite_file(client)
    except (RedisError, OSError) as error:
        raise StoreUnavailable(
            f"{folder} cannot be written anew: {explain(str(error))}.", component="sessions"
        ) from error
    finally:
        server.stop()
    (folder / "dump.rdb").unlink(missing_ok=True)  # the server reads the append-only file alone
    mark_folder(folder, new)


def _rekey(client: Redis, key: bytes, readers: list[SessionEntries], writer: SessionEntries) -> None:
    part = key.decode().rpartition(":")[2]
    if part not in ENTRY_PARTS:
        return
    entries: list[Any] = client.lrange(key, 0, -1)
    for place, entry in enumerate(entries):
        for reader in readers:
            try:
                client.lset(key, place, reader.rewritten(part, entry, writer))
                break
            except ValueError:
                continue
        else:
            client.unlink(key)
            return


def _rewrite_file(client: Redis) -> None:
    _wait_until_written(client)  # the server may have begun to write by itself
    client.bgrewriteaof()
    _wait_until_written(client)
    if client.info("persistence")["aof_last_bgrewrite_status"] != "ok":
        raise OSError("the server could not write its append-only file")


def _wait_until_written(client: Redis) -> None:
    give_up = time.monotonic() + _REWRITE_S
    while True:
        state = client.info("persistence")
        if not state["aof_rewrite_in_progress"] and not state["aof_rewrite_scheduled"]:
            return
        if time.monotonic() > give_up:
            raise OSError("the server did not finish writing its append-only file")
        time.sleep(_POLL_S)
