"""The language that a user writes: English, or Chinese in one of its scripts."""

from collections.abc import Iterable
from enum import StrEnum

from ..values.text import has_han, is_simplified, is_traditional


class Language(StrEnum):
    """The languages that Jiyi writes."""

    TRADITIONAL_CHINESE = "zh-Hant"
    SIMPLIFIED_CHINESE = "zh-Hans"
    ENGLISH = "en"


def written_language(texts: Iterable[str]) -> Language:
    """The language of most texts; English for none, Traditional Chinese where the script cannot be told."""
    known = list(texts)
    chinese = [text for text in known if has_han(text)]
    if not chinese or 2 * len(chinese) < len(known):
        return Language.ENGLISH
    simplified, traditional = sum(map(is_simplified, chinese)), sum(map(is_traditional, chinese))
    return Language.SIMPLIFIED_CHINESE if simplified > traditional else Language.TRADITIONAL_CHINESE
