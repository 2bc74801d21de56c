"""The private folder of a home's cluster: its sockets, logs and administration files.

It is not in the home, since a socket's path has at most 107 bytes; the home has a link to it. Only its owner may enter
it and nobody else can create it first: Ray makes folders in it that every account of the machine may write to.
"""

import os
import secrets
import stat
import tempfile
from pathlib import Path

_LINK = "cluster"
_OWNER = "home"


def make_runtime_folder(home: Path) -> Path:
    """Returns the folder of this home, or makes one with mode 0700 and a random name.

    An earlier one is taken again if it is a folder of ours that nobody else may enter and belongs to this home: a copy
    of a home has a copy of the link.
    """
    link = home / _LINK
    if link.is_symlink() and _is_own(folder := link.readlink(), home):
        return folder
    folder = Path(tempfile.mkdtemp(prefix="jiyi-"))
    (folder / _OWNER).write_text(str(home))
    link.unlink(missing_ok=True)
    link.symlink_to(folder)
    return folder


def runtime_folder(home: Path) -> Path:
    """The folder that was made for this home.

    Raises:
        FileNotFoundError: No cluster was ever started for it.
    """
    return (home / _LINK).readlink()


def _is_own(folder: Path, home: Path) -> bool:
    try:
        status = folder.lstat()
        is_private = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077
        return is_private and (folder / _OWNER).read_text() == str(home)
    except OSError:
        return False


def token_path(home: Path) -> Path:
    """The file of the token with which every process of the cluster, and every driver, shows that it belongs to it."""
    return home / "cluster.token"


def write_token(home: Path) -> None:
    """Writes a new token, mode 0600."""
    path = token_path(home)
    path.unlink(missing_ok=True)
    path.touch(mode=0o600, exist_ok=False)
    path.write_text(secrets.token_hex(32))
