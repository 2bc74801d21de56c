"""Strategies that find the names in chunks without a language model: by patterns, or by the trained reader."""

import re
from collections.abc import Iterator, Sequence

from typing_extensions import override

from ...extraction.extractor import READER
from ...extraction.junk import is_junk
from ...language.keywords import STOP_WORDS_ENGLISH
from ...language.tokens import find_codes
from ...ports.models.language import Extractor
from ...ports.stores.graphs import EntityExtractor
from ...values.errors import ModelUnavailable
from ...values.text import fold
from ...values.understanding.mentions import EntitySubtype, Mention, MentionLevel

_TITLE = re.compile(r"《([^《》\n]{1,40})》")
_LATIN_NAME = re.compile(
    r"(?<![A-Za-z0-9])[A-Z][A-Za-z0-9&'-]*(?:(?: (?:of|the|de|van|von|and) | )[A-Z][A-Za-z0-9&'-]*){0,5}"
)
_ORGANISATION = re.compile(
    r"[\u3400-\u9fff]{2,8}?(?:大学|公司|银行|医院|协会|委员会|研究所|研究院|博物馆|基金会|集团|联盟|政府|法院|学院)"
)
_PATTERN_CONFIDENCE = 0.6
_LEAST_CONFIDENCE = 0.5


class PatternEntities(EntityExtractor):
    """Titles in 《》, identifiers, capitalised words, Chinese words that end as organisations do; no persons' names."""

    @property
    @override
    def version(self) -> str:
        return "patterns-1"

    @override
    async def find(self, texts: Sequence[str]) -> list[list[Mention]]:
        return [_without_overlaps(_found(text)) for text in texts]


class ReaderEntities(EntityExtractor):
    """The names that the trained reader finds, with identifiers.

    Args:
        extractor: Asks the reader.
    """

    def __init__(self, extractor: Extractor) -> None:
        self._extractor = extractor

    @property
    @override
    def version(self) -> str:
        return f"reader-1:{self._extractor.version}"

    @override
    async def find(self, texts: Sequence[str]) -> list[list[Mention]]:
        extractions = await self._extractor.extract(texts)
        if any(READER in extraction.degraded for extraction in extractions):
            raise ModelUnavailable("The reader is away: names cannot be read.", component=READER)
        return [[mention for mention in extraction.mentions if _is_name(mention)] for extraction in extractions]


def _is_name(mention: Mention) -> bool:
    is_sure = mention.level is MentionLevel.LONG_TERM and mention.confidence >= _LEAST_CONFIDENCE
    return is_sure and not is_junk(mention.text)


def _found(text: str) -> Iterator[Mention]:
    folded = fold(text)
    for match in _TITLE.finditer(folded):
        yield _mention(text, *match.span(1), EntitySubtype.WORK)
    for start, end in find_codes(folded):
        yield _mention(text, start, end, EntitySubtype.CODE)
    for match in _ORGANISATION.finditer(folded):
        yield _mention(text, *match.span(), EntitySubtype.ORGANISATION)
    for match in _LATIN_NAME.finditer(folded):
        start = match.start()
        first = match.group().split(" ", 1)[0]
        if first.lower() in STOP_WORDS_ENGLISH:  # the first word of a sentence
            start += len(first) + 1
        if start < match.end():
            yield _mention(text, start, match.end(), None)


def _mention(text: str, start: int, end: int, subtype: EntitySubtype | None) -> Mention:
    return Mention(
        text=text[start:end], start=start, end=end, subtype=subtype, confidence=_PATTERN_CONFIDENCE, source="pattern"
    )


def _without_overlaps(found: Iterator[Mention]) -> list[Mention]:
    """The mentions that are no junk, in text order: of those that overlap the longest, then the first."""
    taken: list[Mention] = []
    for mention in sorted(found, key=lambda each: (each.start - each.end, each.start)):
        if not is_junk(mention.text) and all(mention.end <= one.start or one.end <= mention.start for one in taken):
            taken.append(mention)
    return sorted(taken, key=lambda each: each.start)
