"""Vectors as values: what the keyword analyser makes and the index stores."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SparseVector:
    """Term weights: distinct unsigned 32-bit term ids and their weights, of equal length."""

    indices: tuple[int, ...]
    values: tuple[float, ...]
