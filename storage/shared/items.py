"""The range of namespaces that a prefix of whole labels means, the same in every backend."""

from collections.abc import Sequence

from memory.values.items import path_of

_AFTER_DOT = chr(ord(".") + 1)


def end_of(prefix: Sequence[str]) -> str:
    """The first text, by code point, behind all paths that begin with these labels, of which there is one at least."""
    return path_of(prefix)[:-1] + _AFTER_DOT
