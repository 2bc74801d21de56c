"""Vectors as values: what the keyword analyser makes and the index stores."""

from dataclasses import dataclass
from enum import StrEnum

from .text import is_mostly_han


@dataclass(frozen=True)
class SparseVector:
    """Term weights: distinct unsigned 32-bit term ids and their weights, of equal length."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


class LanguageGroup(StrEnum):
    """The groups of languages that lie apart in the vectors of a multilingual model (DESIGN §6)."""

    CHINESE = "chinese"
    OTHER = "other"

    @classmethod
    def of(cls, text: str) -> "LanguageGroup":
        """The group of a text; of a mixed one, that of most of it."""
        return cls.CHINESE if is_mostly_han(text) else cls.OTHER
