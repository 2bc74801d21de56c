"""Cutting a context at whole categories, by characters and by tokens (002 §4.3)."""

from collections.abc import Sequence
from dataclasses import dataclass

SEPARATOR = "\n\n"
"""What stands between two categories of a context."""

HOOK_MAX_CHARS = 2000
"""The limit where a context goes into every prompt (002 §4.3); `/context` itself has none unless it is given one."""


@dataclass(frozen=True)
class Budget:
    """What a context may take up; None is no limit.

    Args:
        chars: Characters (code points), separators included.
        tokens: Tokens of the categories; separators are in the categories that they follow.
    """

    chars: int | None = None
    tokens: int | None = None


def fitting(blocks: Sequence[str], *, budget: Budget, tokens: Sequence[int] | None = None) -> int:
    """How many blocks fit, from the first: the one that exceeds the budget is left out with all behind it.

    Args:
        blocks: In the order of their priority.
        budget: The limits.
        tokens: The number of tokens of each block, where these are limited.
    """
    chars = used_tokens = 0
    for index, block in enumerate(blocks):
        chars += len(block) + (len(SEPARATOR) if index else 0)
        used_tokens += tokens[index] if tokens is not None else 0
        too_long = budget.chars is not None and chars > budget.chars
        if too_long or (budget.tokens is not None and used_tokens > budget.tokens):
            return index
    return len(blocks)
