"""Reads word lists from the `data` folders of packages.

A file has one entry per line; lines that begin with `#` are comments and say what the list is and where it comes from.
"""

from functools import cache
from importlib.resources import files


@cache
def entries(name: str, package: str = "memory.language") -> tuple[str, ...]:
    """The entries of `data/<name>.txt` in a package, in their order.

    Raises:
        FileNotFoundError: The package has no such list.
    """
    text = files(package).joinpath("data", f"{name}.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))


def words(name: str, package: str = "memory.language") -> frozenset[str]:
    """The entries of a list as a set."""
    return frozenset(entries(name, package))
