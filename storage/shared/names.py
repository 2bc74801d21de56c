"""Finds the names of entities in a text (`memory.ports.stores.record.EntityRepository.found_in`)."""

import unicodedata
from itertools import pairwise

from memory.values.entities import Entity
from memory.values.text import normalise

PREFIX_LENGTH = 2
"""Characters of a name that a store looks up first, to find which names may occur in a text."""
HEAD_LENGTH = 32
"""Characters of a name that a store looks up exactly; the rest is compared in the text afterwards."""

_WORD_CATEGORIES = frozenset({"Ll", "Lu", "Lt", "Nd"})


def comparable(text: str) -> str:
    """The normalised form of a text, without NUL and lone surrogates, which databases cannot compare."""
    valid = text.encode("utf-8", "replace").decode("utf-8")
    return normalise(valid).replace("\0", "\ufffd")


def names_of(entity: Entity) -> list[str]:
    """The distinct names of an entity in comparable form: the value first, then the aliases."""
    names = (entity.normalised_value, entity.entity_value, *entity.aliases)
    return [name for name in dict.fromkeys(comparable(name) for name in names) if name]


def _is_word(character: str) -> bool:
    """Whether the character belongs to words between spaces: letters of cased scripts, digits, underscore.

    Han, kana and hangul do not: there, names occur without word borders.
    """
    return character == "_" or unicodedata.category(character) in _WORD_CATEGORIES


def word_borders(text: str) -> list[bool]:
    """For each of the len(text) + 1 offsets, whether a name may begin or end there."""
    words = [_is_word(character) for character in text]
    if not words:
        return [True]
    return [True, *(not (left and right) for left, right in pairwise(words)), True]


def position_of(name: str, text: str, borders: list[bool]) -> int | None:
    """The first position of a name in a text, both in comparable form; None where it does not occur."""
    start = text.find(name) if name else -1
    while start >= 0:
        if borders[start] and borders[start + len(name)]:
            return start
        start = text.find(name, start + 1)
    return None


def prefixes(text: str, borders: list[bool]) -> dict[str, list[int]]:
    """The prefixes that names in this text may have, with their positions."""
    positions: dict[str, list[int]] = {}
    for start in range(len(text)):
        if borders[start]:
            positions.setdefault(text[start], []).append(start)
            if start + PREFIX_LENGTH <= len(text):
                positions.setdefault(text[start : start + PREFIX_LENGTH], []).append(start)
    return positions


def heads(text: str, borders: list[bool], prefix: str, starts: list[int]) -> set[str]:
    """The first `HEAD_LENGTH` characters, or all, of names that may begin at these positions of `prefix`."""
    if len(prefix) < PREFIX_LENGTH:
        return {prefix} if any(borders[start + 1] for start in starts) else set()
    found = set()
    for start in starts:
        for end in range(start + PREFIX_LENGTH, min(start + HEAD_LENGTH, len(text)) + 1):
            if borders[end] or end - start == HEAD_LENGTH:
                found.add(text[start:end])
    return found
