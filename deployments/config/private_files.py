"""The files of a home are for its owner alone: 0600, folders 0700."""

import os
import stat
from pathlib import Path

import structlog

_OTHERS = 0o077
_log = structlog.get_logger(__name__)


def keep_private() -> None:
    """Makes what this process and its children create private, whatever library creates it."""
    os.umask(_OTHERS)


def make_private_home(home: Path) -> None:
    """Makes the folder, and takes the rights of others away from it and all in it; links are not followed.

    What belongs to another account stays as it is, and is logged.
    """
    keep_private()
    home.mkdir(parents=True, exist_ok=True)
    paths = [home, *(Path(folder) / name for folder, folders, files in os.walk(home) for name in (*folders, *files))]
    for path in paths:
        try:
            mode = path.lstat().st_mode
            if mode & _OTHERS and not stat.S_ISLNK(mode):
                path.chmod(stat.S_IMODE(mode) & ~_OTHERS)
        except FileNotFoundError:  # another process deleted it
            continue
        except PermissionError as error:
            _log.warning("not_private", path=str(path), error=str(error))
