"""Quotes what was said word for word, with what a reference means in brackets: 他（徐濤）, "it [the van]"."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from ..values.hits import Hit
from ..values.text import has_han

_LETTERS = r"[^\W\u3400-\u9fff]+"
_TOKEN = re.compile(rf"{_LETTERS}(?:['’-]{_LETTERS})*|\s+|.", re.DOTALL)
_LEAST_IN_COMMON = 0.5
"""Share of the words said that stand in what is meant; with less it is another statement, as of a correction."""


def with_references_beside(quote: str, hit: Hit) -> str:
    """A quotation in the words of who said it.

    Args:
        quote: A part of what the memory means.
        hit: The memory.

    Returns:
        The words that were said, each reference followed by what it means; the quotation as it is where it is no single
        part of the memory, and where it means an earlier statement, corrected.
    """
    said, meant = _TOKEN.findall(hit.text), _TOKEN.findall(hit.meant)
    matcher = SequenceMatcher(None, said, meant, autojunk=False)
    common = [word for block in matcher.get_matching_blocks() for word in said[block.a : block.a + block.size]]
    start = hit.meant.find(quote)
    if hit.meant == hit.text or start < 0 or _count_words(common) < _LEAST_IN_COMMON * _count_words(said):
        return quote
    brackets = "（{}）" if has_han(hit.text) else "[{}]"
    pieces: list[str] = []
    at = 0  # characters of `hit.meant` before the piece
    for operation, first, last, begin, end in matcher.get_opcodes():
        words, meaning = "".join(said[first:last]), "".join(meant[begin:end])
        if operation == "equal":
            pieces.append(meaning[max(0, start - at) : max(0, start + len(quote) - at)])
        elif start <= at < start + len(quote):
            pieces.append(_beside(words, meaning, brackets))
        at += len(meaning)
    return "".join(pieces).strip()


def _beside(words: str, meaning: str, brackets: str) -> str:
    """What was said, with its meaning in brackets; spaces around the meaning stay outside."""
    core = meaning.strip()
    if not core:
        return words
    before, after = meaning[: len(meaning) - len(meaning.lstrip())], meaning[len(meaning.rstrip()) :]
    if not words:
        return f"{before}{brackets.format(core)}{after}"
    space = " " if brackets.startswith("[") else ""
    return f"{words.rstrip()}{space}{brackets.format(core)}{words[len(words.rstrip()) :]}"


def _count_words(tokens: Sequence[str]) -> int:
    return sum(not token.isspace() for token in tokens)
