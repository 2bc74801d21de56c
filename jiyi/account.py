"""Changes from root to an account without rights, before anything is created or started."""

import importlib.util
import os
import pwd
import sys
from collections.abc import Iterator
from pathlib import Path

PROGRAM = ("jiyi", "deployments", "ray")
"""Packages without which nothing starts; each may be installed elsewhere."""


class AccountRefused(Exception):
    """The service cannot run as this account; the message says why."""


def become(name: str) -> None:
    """Takes an account's rights, groups and home folder, with no way back; nothing to do for one that it is already.

    Raises:
        AccountRefused: There is no such account, it is root, this process is not root, or it cannot read the program.
    """
    try:
        account = pwd.getpwnam(name)
    except KeyError:
        raise AccountRefused(f"--user {name}: there is no such account.") from None
    if account.pw_uid == 0:
        raise AccountRefused(f"--user {name}: this account is root; name one without its rights.")
    if os.getuid() == os.geteuid() == account.pw_uid:
        return
    if os.geteuid() != 0:
        raise AccountRefused(f"--user {name}: only root can become another account.")
    program = [Path(sys.executable), *map(_folder_of, PROGRAM)]
    os.initgroups(name, account.pw_gid)
    os.setgid(account.pw_gid)
    os.seteuid(account.pw_uid)
    unreadable = next((path for path in program if not _is_allowed(path, os.R_OK | os.X_OK)), None)
    os.seteuid(0)
    if unreadable:
        raise AccountRefused(
            f"--user {name}: this account cannot read {unreadable} ({_closed_at(unreadable)}). Install Python and Jiyi "
            "where every account can read them."
        )
    os.setuid(account.pw_uid)
    os.environ.update(HOME=account.pw_dir, USER=name, LOGNAME=name)
    for variable in [variable for variable in os.environ if variable.startswith("XDG_")]:
        del os.environ[variable]  # folders of the account that it was
    if not _is_allowed(Path.cwd(), os.R_OK | os.X_OK):
        os.chdir("/")


def check_writable(name: str, folder: Path) -> None:
    """Refuses a folder that the account cannot make, or in which something is not its own.

    Raises:
        AccountRefused: Names the path.
    """
    existing = next(path for path in (folder, *folder.parents) if _exists(path))
    paths = _all_in(folder) if existing == folder else iter([existing])
    for path in paths:
        if not _is_allowed(path, os.R_OK | os.W_OK | (os.X_OK if path.is_dir() else 0)):
            hint = f"chown -R {name} {folder}" if existing == folder else f"make {folder} and give it to the account"
            raise AccountRefused(f"--user {name}: this account cannot write {path}, as {folder} needs: {hint}.")


def _folder_of(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    assert spec is not None  # noqa: S101 - installed with this one
    assert spec.origin is not None  # noqa: S101 - not a namespace
    return Path(spec.origin).parent


def _is_allowed(path: Path, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _closed_at(path: Path) -> str:
    """What keeps an account from a path, as root sees it: the first folder above that others may not enter."""
    target = Path(os.path.realpath(path))
    closed = (folder for folder in reversed(target.parents) if not folder.stat().st_mode & 0o001)
    return f"{next(closed, target)} is closed to it"


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except PermissionError:
        return False


def _all_in(folder: Path) -> Iterator[Path]:
    yield folder
    for parent, folders, files in os.walk(folder):
        paths = (Path(parent) / entry for entry in (*folders, *files))
        yield from (path for path in paths if not path.is_symlink() and (path.is_file() or path.is_dir()))
