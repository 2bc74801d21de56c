"""Starting and ending the service of this machine: the only place that reaches into `deployments`, when called."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import psutil

if TYPE_CHECKING:
    from deployments.config.described import Setting
    from deployments.config.serve_file import ServeFile
    from deployments.config.settings import AppArgs
    from deployments.host.supervisor import Endpoint
    from memory.identity.api_keys import ApiKeys

T = TypeVar("T")

_POLL_S = 0.3
DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8000
_TAIL_LINES = 20
_PAGE = 1_000
_KIB_OF_MIB = 1024
EncryptionAction = Literal["on", "off", "rotate"]


class BadSettings(Exception):
    """A setting is wrong; the message says which, and what is allowed."""


class ServiceFailed(Exception):
    """The service did not start or stop; the message says where to look."""


@dataclass(frozen=True)
class ProcessMemory:
    """One process: what it is, and its memory in MiB.

    Attributes:
        pid: Its number.
        name: What it is.
        rss_mib: Resident pages, shared ones counted in full.
        pss_mib: Resident pages, of shared ones its share.
        own_mib: Of those the ones that no file holds: what the machine cannot take back. The rest is code, weights
            and the vector index, whose files the engine maps and allocates in pages of 32 MiB before it fills them.
    """

    pid: int
    name: str
    rss_mib: float
    pss_mib: float
    own_mib: float


def load_settings(home: Path | None, args: Mapping[str, Any] | None = None) -> "AppArgs":
    """The settings: from `home`, else `args`, else the environment.

    Raises:
        BadSettings: A setting is unknown or has a value that is not allowed; the message names each.
    """
    from pydantic import ValidationError
    from pydantic_settings import SettingsError

    from deployments.config.described import explain
    from deployments.config.settings import AppArgs

    try:
        return AppArgs.model_validate({**(args or {}), **({"home": home} if home else {})})
    except ValidationError as error:
        raise BadSettings(explain(error)) from None  # its input may hold a secret
    except SettingsError as error:
        raise BadSettings(str(error)) from None


def read_config(path: Path) -> "ServeFile":
    """Reads the settings and the address of the application from a config file of Ray Serve.

    Raises:
        BadSettings: The file is not a valid config file, or not one of this application.
    """
    from deployments.config.serve_file import read_serve_file

    try:
        return read_serve_file(path)
    except ValueError as error:
        raise BadSettings(str(error)) from error


def describe(settings: "AppArgs", given: Mapping[str, Any]) -> "list[Setting]":
    """Every setting with its value, and where that comes from."""
    from deployments.config.described import describe_settings

    return describe_settings(settings, given=given)


def find(settings: "AppArgs") -> "Endpoint | None":
    """The running service of this home."""
    from deployments.host.supervisor import read_endpoint

    return read_endpoint(settings.data_home)


def processes(settings: "AppArgs", endpoint: "Endpoint") -> list[ProcessMemory]:
    """The supervisor and every process of its cluster that still lives, with their memory."""
    from deployments.host.cluster import members

    found = []
    for process in (psutil.Process(endpoint.pid), *members(settings.data_home)):
        try:
            kib = _memory_kib(process.pid)
            own_kib = kib["Pss_Anon"] + kib["Pss_Shmem"]
            found.append(
                ProcessMemory(
                    process.pid,
                    _name(process),
                    kib["Rss"] / _KIB_OF_MIB,
                    kib["Pss"] / _KIB_OF_MIB,
                    own_kib / _KIB_OF_MIB,
                )
            )
        except (psutil.NoSuchProcess, psutil.ZombieProcess, FileNotFoundError, ProcessLookupError):
            continue  # ended meanwhile
    return found


def _memory_kib(pid: int) -> dict[str, int]:
    """The kernel's sums over the mappings of a process."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    return {name: int(value.split()[0]) for name, value in (line.split(":") for line in lines)}


def prepare(settings: "AppArgs", model: str | None = None) -> None:
    """Downloads and prepares a model's weights, by default those that the service starts with; shows a progress bar."""
    from deployments.builders.storage.spaces import with_live_model
    from models.assets.prepare import prepare_model

    _configure_logs(settings)
    for name in [model] if model else filter(None, (with_live_model(settings).model, settings.aam.model)):
        prepare_model(name, settings.model_cache)


def start(
    settings: "AppArgs", *, host: str, port: int, timeout_s: float, on_wait: Callable[[float], None]
) -> "Endpoint":
    """Starts the supervisor in the background and waits until the service is ready.

    Raises:
        BadSettings: A secret is among the settings of a config file.
        ServiceFailed: It ended, or was not ready in time; the message ends with the last lines of its log.
    """
    try:
        request = {"args": settings.to_send(), "host": host, "port": port}
    except ValueError as error:
        raise BadSettings(str(error)) from None
    logs = settings.log_folder
    logs.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (logs / "supervisor.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "deployments.host.supervisor"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    assert process.stdin is not None  # noqa: S101 - PIPE above
    process.stdin.write(json.dumps(request).encode())
    process.stdin.close()
    from .client.clients import Client

    begin = time.monotonic()
    with Client(f"http://{host}:{port}") as client:
        while time.monotonic() - begin < timeout_s:
            if process.poll() is not None:
                raise ServiceFailed(f"the supervisor ended with {process.returncode}\n{_tail(logs)}")
            endpoint = find(settings)
            if endpoint and client.is_ready():
                return endpoint
            on_wait(time.monotonic() - begin)
            time.sleep(_POLL_S)
    raise ServiceFailed(f"not ready after {timeout_s:g} s\n{_tail(logs)}")


def stop(settings: "AppArgs", *, timeout_s: float) -> bool:
    """Drains and ends the service; False where none runs.

    Raises:
        ServiceFailed: It did not end in time.
    """
    endpoint = find(settings)
    if endpoint is None:
        return False
    os.kill(endpoint.pid, signal.SIGTERM)
    end = time.monotonic() + timeout_s
    while find(settings) is not None:
        if time.monotonic() > end:
            raise ServiceFailed(f"process {endpoint.pid} did not end within {timeout_s:g} s")
        time.sleep(_POLL_S)
    return True


def check_address(settings: "AppArgs", host: str) -> None:
    """Refuses to listen where others could use the service without a credential.

    Raises:
        BadSettings: The message says what to set.
    """
    from deployments.config.exposure import Exposed, check_exposure

    try:
        check_exposure(settings, host)
    except Exposed as error:
        raise BadSettings(str(error)) from error


def open_warning(settings: "AppArgs") -> str | None:
    """What to know of a service that asks for no credential; None where it asks for one."""
    from deployments.http.identity.authentication import OPEN_WARNING

    return None if settings.auth.required else OPEN_WARNING


async def with_keys(
    settings: "AppArgs", act: str | None, work: "Callable[[ApiKeys], Awaitable[T]]", **details: object
) -> T:
    """Does something with the API keys of this home, without the service.

    Args:
        settings: The settings.
        act: What is written to the audit log where it succeeds; None for reading.
        work: What to do.
        details: Further fields of the line in the audit log.

    Raises:
        ServiceFailed: The keys cannot be reached, or it cannot be done; the message says why.
    """
    from deployments.builders.storage.stores import open_record
    from deployments.http.identity.operators import write_audit
    from deployments.telemetry.logs import configure_audit
    from memory.identity.api_keys import ApiKeys
    from memory.values.errors import JiyiError

    _configure_logs(settings)
    configure_audit(settings.log_folder)
    try:
        record = open_record(settings, durable=True)
        try:
            result = await work(ApiKeys(record.keys))
        finally:
            await record.close()
    except JiyiError as error:
        raise ServiceFailed(error.message) from error
    if act is not None:
        write_audit(act, credential="command line", **details)
    return result


async def users(settings: "AppArgs") -> list[tuple[str, str]]:
    """App and id of every user who has something in the store of this home.

    Raises:
        ServiceFailed: The store cannot be reached.
    """
    from deployments.builders.storage.stores import open_record
    from memory.values.access.identity import app_and_user, app_of_owner
    from memory.values.errors import JiyiError

    _configure_logs(settings)
    try:
        record = open_record(settings, durable=False)
        try:
            found: list[str] = []
            while page := await record.backlog.users(after=found[-1] if found else None, limit=_PAGE):
                found += page
        finally:
            await record.close()
    except JiyiError as error:
        raise ServiceFailed(error.message) from error
    return [app_and_user(stored) for stored in found if app_of_owner(stored) is None]


def check_encryption(settings: "AppArgs") -> None:
    """Refuses stores that are not encrypted as the settings say.

    Raises:
        ServiceFailed: Says which store, and what to do.
    """
    from deployments.builders.storage.encryption import check_encryption as check
    from memory.values.errors import JiyiError

    try:
        check(settings)
    except (JiyiError, ModuleNotFoundError) as error:
        raise ServiceFailed(str(error)) from error


def encryption_states(settings: "AppArgs") -> dict[str, str]:
    """How each store of the home is written, in words.

    Raises:
        ServiceFailed: One cannot be read.
    """
    from deployments.builders.storage.encryption import encryption_states as states
    from memory.values.errors import JiyiError

    try:
        return {name: state.value for name, state in states(settings).items()}
    except (JiyiError, ModuleNotFoundError) as error:
        raise ServiceFailed(str(error)) from error


def change_encryption(
    settings: "AppArgs", action: EncryptionAction, *, old_key_file: Path | None = None
) -> Iterator[str]:
    """Writes every store of the home anew, with the key of the settings or without; yields each when it is done.

    Args:
        settings: With the new key; for `off`, with the present one.
        action: What is to be done.
        old_key_file: Holds the old key, for `rotate`.

    Raises:
        ServiceFailed: The service is running, a key is missing or wrong, or a store cannot be written.
    """
    from filelock import Timeout

    from deployments.builders.storage import encryption
    from deployments.host.supervisor import home_lock
    from memory.values.errors import JiyiError
    from storage.shared.encryption import NO_CIPHER

    _configure_logs(settings)
    try:
        key = encryption.cipher_of_settings(settings)
        old = NO_CIPHER if old_key_file is None else encryption.cipher_of_file(old_key_file)
        with home_lock(settings.data_home):
            yield from encryption.change_encryption(
                settings, old=key if action == "off" else old, new=NO_CIPHER if action == "off" else key
            )
    except Timeout as error:
        raise ServiceFailed("The service is running. End it first: jiyi down") from error
    except (JiyiError, ModuleNotFoundError, OSError) as error:
        raise ServiceFailed(str(error)) from error


def discard_index(settings: "AppArgs") -> list[Path]:
    """Sets the files of the vector index aside; returns where they are now. The next start makes the index again.

    Raises:
        ServiceFailed: The service is running, or the files cannot be set aside.
    """
    from deployments.builders.storage.stores import discard_index as discard
    from memory.values.errors import JiyiError

    _configure_logs(settings)
    if find(settings):
        raise ServiceFailed("The service is running. End it first: jiyi down")
    try:
        return discard(settings)
    except JiyiError as error:
        raise ServiceFailed(error.message) from error


def _configure_logs(settings: "AppArgs") -> None:
    from deployments.telemetry.logs import configure_logs

    settings.data_home.mkdir(parents=True, exist_ok=True, mode=0o700)
    configure_logs(settings.log_folder, "cli", settings.log_level)


def _name(process: psutil.Process) -> str:
    """A readable name of a process; Ray puts the names of its workers into their command line."""
    command = process.cmdline()
    if not command:
        return process.name()
    if command[0].startswith("ray::"):
        return command[0].removeprefix("ray::")
    for argument in command[1:4]:
        if argument.startswith("deployments.") or argument.endswith(".py"):
            return argument.rsplit("/", 1)[-1]
    return process.name()


def _tail(logs: Path) -> str:
    """The last lines of the logs that tell why a start failed."""
    parts = []
    for name in ("supervisor.log", "deploy.log", "ray.log"):
        path = logs / name
        if path.exists() and path.stat().st_size:
            lines = path.read_text(errors="replace").splitlines()[-_TAIL_LINES:]
            parts.append(f"--- {path}\n" + "\n".join(lines))
    return "\n".join(parts)
