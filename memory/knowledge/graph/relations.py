"""Strategies that find relations between the names of a chunk without a language model."""

import asyncio
from collections.abc import Iterator, Sequence

from typing_extensions import override

from ...extraction.alias_patterns import find_aliases
from ...language.sentences import Sentences
from ...ports.stores.graphs import RelationExtractor
from ...relations.patterns import find_relations
from ...values.documents.corpora import Span
from ...values.documents.graphs import ALIAS, CO_OCCURS, Finder, FoundRelation
from ...values.text import fold, normalise
from ...values.understanding.mentions import Mention

_IN_A_SENTENCE, _IN_A_CHUNK = 0.5, 0.1
"""Strength of a link between certain names that stand together."""
_NEAR_IN_A_SENTENCE, _NEAR_IN_A_CHUNK = 6, 3
"""A name is linked to so many that follow it: the number of links stays in proportion to that of names."""
_STATED_ALIAS = 0.9


class StatedRelations(RelationExtractor):
    """Relations and aliases that a chunk states in words that patterns know."""

    @property
    @override
    def version(self) -> str:
        return "stated-1"

    @override
    async def find(self, texts: Sequence[str], names: Sequence[Sequence[Mention]]) -> list[list[FoundRelation]]:
        pairs = [*zip(texts, names, strict=True)]
        return await asyncio.to_thread(lambda: [[*_stated(text, mentions)] for text, mentions in pairs])


class Cooccurrence(RelationExtractor):
    """Names that stand together: in one sentence, or, more weakly, in neighbouring ones of a chunk (004 §8)."""

    @property
    @override
    def version(self) -> str:
        return "together-1"

    @override
    async def find(self, texts: Sequence[str], names: Sequence[Sequence[Mention]]) -> list[list[FoundRelation]]:
        return [[*_together(text, mentions)] for text, mentions in zip(texts, names, strict=True)]


def _stated(text: str, mentions: Sequence[Mention]) -> Iterator[FoundRelation]:
    named = [mention.model_copy(update={"entity_id": normalise(mention.text)}) for mention in mentions]
    for claim in find_relations(text, named):
        if claim.source is not None:
            yield FoundRelation(
                source=claim.source.text,
                target=claim.target.text,
                type=claim.relation_type.value,
                strength=claim.confidence,
                by=Finder.PATTERN,
                span=Span(start=claim.start, end=claim.end),
            )
    for alias in find_aliases(text, named):
        start, end = min(alias.start, alias.mention.start), max(alias.end, alias.mention.end)
        yield FoundRelation(
            source=alias.alias,
            target=alias.mention.text,
            type=ALIAS,
            strength=_STATED_ALIAS * alias.mention.confidence,
            by=Finder.PATTERN,
            span=Span(start=start, end=end),
        )


def _together(text: str, mentions: Sequence[Mention]) -> Iterator[FoundRelation]:
    """One relation for each pair of names, of the strongest place where they stand together."""
    if not mentions:
        return
    sentences = Sentences(fold(text))
    places = [(mention, normalise(mention.text), sentences.at(mention.start).start) for mention in mentions]
    found: dict[tuple[str, str], FoundRelation] = {}
    for index, (mention, key, sentence) in enumerate(places):
        for distance, (other, other_key, other_sentence) in enumerate(places[index + 1 :][:_NEAR_IN_A_SENTENCE]):
            is_near = sentence == other_sentence
            if key == other_key or not (is_near or distance < _NEAR_IN_A_CHUNK):
                continue
            pair = (min(key, other_key), max(key, other_key))
            certainty = min(mention.confidence, other.confidence)
            strength = round((_IN_A_SENTENCE if is_near else _IN_A_CHUNK) * certainty, 3)
            if pair not in found or found[pair].strength < strength:
                found[pair] = FoundRelation(
                    source=mention.text,
                    target=other.text,
                    type=CO_OCCURS,
                    strength=strength,
                    by=Finder.SENTENCE if is_near else Finder.CHUNK,
                    span=Span(start=mention.start, end=other.end),
                )
    yield from found.values()
