"""The readers by the name of the service."""

from collections.abc import Callable, Mapping
from enum import StrEnum

from .entries import ForeignExport
from .letta import read_letta
from .mem0 import read_mem0
from .openai import read_openai
from .zep import read_zep


class ForeignFormat(StrEnum):
    """The services whose exports are read."""

    MEM0 = "mem0"
    LETTA = "letta"
    ZEP = "zep"
    OPENAI = "openai"


READERS: Mapping[ForeignFormat, Callable[..., ForeignExport]] = {
    ForeignFormat.MEM0: read_mem0,
    ForeignFormat.LETTA: read_letta,
    ForeignFormat.ZEP: read_zep,
    ForeignFormat.OPENAI: read_openai,
}
"""Each takes the JSON of a file and, as `user`, whose memories are meant where it has those of several."""
