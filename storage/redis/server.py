"""A local Redis-protocol server on a unix socket, where no URL is configured (STORES, Redis / Valkey)."""

import atexit
import hashlib
import os
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import structlog
from filelock import FileLock, Timeout
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from memory.values.errors import StoreUnavailable

from .binary import find_server_binary

# A socket's path has 108 bytes on Linux and 104 on macOS, its closing NUL included.
_LONGEST_SOCKET_PATH_BYTES = 100
_POLL_S = 0.02
_LONGEST_PAUSE_S = 5.0
_log = structlog.get_logger(__name__)


def socket_path(folder: Path) -> Path:
    """Where the server of a data folder listens: in it, or in a short private folder where that path is too long."""
    inside = folder.absolute() / "redis.sock"
    if len(os.fsencode(inside)) <= _LONGEST_SOCKET_PATH_BYTES:
        return inside
    digest = hashlib.blake2b(os.fsencode(folder.absolute()), digest_size=8).hexdigest()
    return Path(tempfile.gettempdir()) / f"jiyi-{os.getuid()}-{digest}" / "redis.sock"


class LocalRedisServer:
    """Starts, supervises and ends the server of one data folder.

    Of all processes that share the folder, one owns the server: it holds a lock on the folder, which the kernel
    releases when it dies. The owner starts the server or adopts one that a dead owner left, restarts it when it dies,
    and ends it. The others only wait until it answers.

    Args:
        folder: Where the append-only file, the log and the lock are; created for this user of the machine alone.
        binary: The server; found on this machine if None.
        start_timeout_s: How long a server may take to answer.
        check_interval_s: How often the supervising thread checks the server.
    """

    def __init__(
        self,
        folder: Path,
        *,
        binary: Path | None = None,
        start_timeout_s: float = 10.0,
        check_interval_s: float = 0.2,
    ) -> None:
        self.restarts = 0
        self._folder = folder.absolute()
        self._socket = socket_path(folder)
        self._binary = binary
        self._start_timeout_s = start_timeout_s
        self._check_interval_s = check_interval_s
        self._has_answered = False
        self._guard = threading.RLock()
        # Held by whichever thread; released by the kernel when the process dies.
        self._lock = FileLock(self._folder / "owner.lock", mode=0o600, blocking=False, thread_local=False)
        self._child: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._supervisor: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The URL for `RedisClient`."""
        return f"unix://{self._socket}"

    @property
    def owned(self) -> bool:
        """Whether this object is the one that restarts and ends the server."""
        return self._lock.is_locked

    def start(self) -> None:
        """Returns when a server of this folder answers; blocks.

        Raises:
            StoreUnavailable: There is no server program, the folder cannot be used, or nothing answers in time.
        """
        try:
            _private_folder(self._folder)
            _private_folder(self._socket.parent)
        except OSError as error:
            raise _unavailable(f"{self._folder} cannot be used: {error}") from error
        self._stopping.clear()
        self.ensure_running()
        atexit.register(self.stop)
        self._supervisor = threading.Thread(target=self._supervise, name="redis-supervisor", daemon=True)
        self._supervisor.start()

    def ensure_running(self) -> None:
        """Returns when the server answers, starting it where this object owns it or can come to own it; blocks.

        Raises:
            StoreUnavailable: It does not answer in time.
        """
        with self._guard:
            if self._answers():
                self._own()
                self._has_answered = True
                return
            spawned = False
            give_up = time.monotonic() + self._start_timeout_s
            while not self._answers():
                # It is alive if it accepts connections (loading, busy, stopped): a second one would damage its files.
                if self._own() and not self._listens() and not self._child_is_alive():
                    if spawned:
                        raise _unavailable(f"it ended while starting; see {self._folder / 'redis.log'}")
                    self._spawn()
                    spawned = True
                if time.monotonic() > give_up or self._stopping.is_set():
                    raise _unavailable(f"no server answers on {self._socket}; see {self._folder / 'redis.log'}")
                time.sleep(_POLL_S)
            self.restarts += spawned and self._has_answered
            self._has_answered = True

    def stop(self) -> None:
        """Saves the data and ends the server, if this object owns it."""
        atexit.unregister(self.stop)
        self._stopping.set()
        with self._guard:
            self._has_answered = False
            if self._lock.is_locked:
                self._end_server()
                self._child = None
                self._lock.release()
        if self._supervisor is not None and self._supervisor is not threading.current_thread():
            self._supervisor.join()
            self._supervisor = None

    def _supervise(self) -> None:
        pause_s = self._check_interval_s
        while not self._stopping.wait(pause_s):
            with self._guard:
                if self._stopping.is_set() or self._child_is_alive():
                    continue
                try:
                    self.ensure_running()
                    pause_s = self._check_interval_s
                except StoreUnavailable as error:
                    pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
                    _log.error("session_server_down", error=error.message)

    def _own(self) -> bool:
        if not self._lock.is_locked:
            try:
                self._lock.acquire()
            except Timeout:
                return False
        return True

    def _spawn(self) -> None:
        if self._has_answered:
            _log.warning("session_server_died", exit_status=None if self._child is None else self._child.poll())
        binary = self._binary or find_server_binary()
        options = {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "dir": str(self._folder),
            "logfile": str(self._folder / "redis.log"),
            "pidfile": str(self._folder / "redis.pid"),
            "daemonize": "no",
        }
        command = [str(binary), *(part for key, value in options.items() for part in (f"--{key}", value))]
        try:
            # A session of its own: an interrupt from the terminal reaches this process only, which ends the server.
            self._child = subprocess.Popen(  # noqa: S603 - the binary and the options are ours
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise _unavailable(f"{binary} cannot be started: {error}") from error

    def _end_server(self) -> None:
        pid = self._listener()
        try:
            with _client(self._socket, self._start_timeout_s) as client:
                client.shutdown(save=True)
        except (RedisError, OSError) as error:
            _log.warning("session_server_shutdown_failed", error=str(error))
        if not _wait_until(self._is_gone, self._start_timeout_s):
            if self._child is not None:
                self._child.kill()
            elif pid is not None:
                os.kill(pid, signal.SIGKILL)
            _wait_until(self._is_gone, self._start_timeout_s)
        if self._child is not None:
            self._child.wait()

    def _child_is_alive(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def _is_gone(self) -> bool:
        return not self._child_is_alive() and not self._listens()

    def _answers(self) -> bool:
        try:
            with _client(self._socket, 1.0) as client:
                return bool(client.ping())
        except (RedisError, OSError):
            return False

    def _listens(self) -> bool:
        """Whether a process holds the socket open, even if it does not answer."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                probe.settimeout(1.0)
                probe.connect(str(self._socket))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True
        return True

    def _listener(self) -> int | None:
        """The process that listens on the socket, as the kernel knows it; None where nothing listens."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                probe.connect(str(self._socket))
                credentials = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        except (OSError, AttributeError):  # AttributeError: only Linux tells
            return None
        return int(struct.unpack("3i", credentials)[0]) or None


def _unavailable(reason: str) -> StoreUnavailable:
    return StoreUnavailable(f"The session server cannot run: {reason}.", component="sessions")


def _client(path: Path, timeout_s: float) -> Redis:
    return Redis(
        unix_socket_path=str(path),
        socket_timeout=timeout_s,
        socket_connect_timeout=timeout_s,
        retry=Retry(NoBackoff(), retries=0),
    )


def _private_folder(folder: Path) -> None:
    """Creates a folder that nobody else may enter, or checks that an existing one belongs to this user."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user")
    folder.chmod(0o700)


def _wait_until(condition: Callable[[], bool], timeout_s: float) -> bool:
    give_up = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > give_up:
            return False
        time.sleep(_POLL_S)
    return True
