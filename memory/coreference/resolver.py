"""The resolver without a trained model: rules find references, a weighted score chooses their antecedents."""

import asyncio
from collections.abc import Sequence

import structlog
from typing_extensions import override

from ..ports.language import Encoder, Extractor, Resolver
from ..values.dialogue import Role
from ..values.errors import InvalidField, Overloaded, Unavailable
from ..values.mentions import Mention
from ..values.resolutions import Alternative, CoreferenceResolution, CoreferenceResult, ResolutionRequest
from ..values.text import fold_lower, has_han
from .antecedents.candidates import GUESSED
from .antecedents.choice import antecedents, is_bound
from .antecedents.coordination import level_coordinated
from .antecedents.discourse import Discourse
from .antecedents.ranking import WEIGHTS, Ranked, confidence, is_close
from .antecedents.similarity import Similarity
from .detect.detection import find_references
from .detect.ellipsis import find_ellipsis
from .detect.references import Reference
from .revise.history import REFERENCES, TURNS, HistoryReader
from .revise.revising import revise
from .write.analysis import Analysis, AnalysisBuilder
from .write.rewriting import writes_spaces

_log = structlog.get_logger(__name__)

_POINTING = frozenset({"这", "那", "这个", "那个", "这一个", "那一个", "this", "that", "this one", "that one"})
"""Demonstratives that the resolver may leave alone; `possible_referents` then asks for 它 or "it" instead."""
_COMPARED = 4  # candidates that the encoder compares
_GAP_TURNS = 2  # an ellipsis takes its topic from the last exchange


class RuleResolver(Resolver):
    """Resolves Chinese and English references by rules and a weighted score.

    Args:
        extractor: Finds names in turns that carry no mentions yet, and in the query.
        encoder: Breaks ties between close candidates; without one the other features decide.
        floor: Confidence below which a reference stays unresolved, 0–1.
    """

    def __init__(self, *, extractor: Extractor, encoder: Encoder | None = None, floor: float = 0.5) -> None:
        if not 0.0 <= floor <= 1.0:
            raise InvalidField(f"floor is {floor}, it must lie in 0–1.", field="floor", allowed="0–1")
        self._extractor = extractor
        self._similarity = Similarity(encoder) if encoder else None
        self._floor = floor

    @override
    async def resolve(self, request: ResolutionRequest) -> CoreferenceResult:
        return (await self.analyse(request)).result

    async def analyse(self, request: ResolutionRequest) -> Analysis:
        """Resolves a query; a correction or an answer resolves the earlier query that it concerns."""
        revised = await revise(request, analyse=self.analyse, find=self.find)
        return revised or await self.read(request)

    async def read(self, request: ResolutionRequest) -> Analysis:
        """Resolves a query that is not treated as a correction or an answer."""
        query = request.query
        references, gap = await asyncio.to_thread(_find_references_or_gap, query)
        turns = request.turns[-TURNS:]
        user_texts = [turn.content for turn in reversed(turns) if turn.role is Role.USER]
        builder = AnalysisBuilder(query, user_texts, spaces=writes_spaces([query, *(turn.content for turn in turns)]))
        if not (request.turns or request.long_term or references) or not (references or gap):
            return builder.analysis(references)
        mentions = await self._mentions(request)
        history = HistoryReader(request, floor=self._floor)
        discourse = await asyncio.to_thread(history.read, mentions[:-1])
        if not references and gap:
            self._fill_gap(gap, discourse, request, builder)
            return builder.analysis((gap,), discourse)
        for reference in references:
            await asyncio.to_thread(
                discourse.read, query, mentions[-1], user=True, start=builder.position, end=reference.start
            )
            builder.position = reference.start
            ranked = antecedents(
                query, reference, discourse, now=request.now, last_referred=request.last_referred_entity
            )
            ranked = level_coordinated(await self._break_ties(query, reference, ranked), discourse.coordinations)
            builder.consider(reference, ranked)
            if not ranked or confidence(ranked) < self._floor:
                if not reference.quiet:
                    builder.leave(reference, ranked)
                continue
            best = ranked[0].candidate
            if is_bound(query, reference, best):
                builder.bound.append(reference)
            else:
                builder.resolve(reference, ranked)
            discourse.refer(best, user=True, end=reference.end)
            builder.position = reference.end
        return builder.analysis(references, discourse)

    async def _mentions(self, request: ResolutionRequest) -> list[tuple[Mention, ...]]:
        """Mentions of each of the last turns and, last, of the query.

        The stored mentions of a turn are complemented: an antecedent needs less confidence than a learned name.
        """
        turns = request.turns[-TURNS:]
        known = tuple(name for entity in request.long_term for name in (entity.entity_value, *entity.aliases))
        texts = [*(turn.content for turn in turns), request.query]
        found = await self._extractor.extract(texts, known=[known] * len(texts))
        carried = [*(turn.mentions or () for turn in turns), ()]
        return [_merge_mentions(own, extraction.mentions) for own, extraction in zip(carried, found, strict=True)]

    async def find(self, text: str) -> tuple[Mention, ...]:
        """The names of a text."""
        [found] = await self._extractor.extract([text])
        return found.mentions

    async def _break_ties(self, query: str, reference: Reference, ranked: list[Ranked]) -> list[Ranked]:
        """Reranks close candidates by the encoder's similarity; keeps the ranking while the encoder is unavailable."""
        if not self._similarity or not is_close(ranked):
            return ranked
        head = ranked[:_COMPARED]
        try:
            near = await self._similarity.compare(
                query[: reference.start] + query[reference.end :], [option.candidate.text for option in head]
            )
        except (Overloaded, Unavailable) as error:
            _log.warning("coreference.similarity_skipped", error=error.message)
            return ranked
        weighed = [
            Ranked(
                option.candidate,
                option.score + WEIGHTS["similarity"] * (value - option.features.get("similarity", 0.5)),
                {**option.features, "similarity": value},
            )
            for option, value in zip(head, near, strict=True)
        ]
        return sorted(weighed, key=lambda option: -option.score) + ranked[_COMPARED:]

    def _fill_gap(
        self, gap: Reference, discourse: Discourse, request: ResolutionRequest, builder: AnalysisBuilder
    ) -> None:
        """Fills the gap of a question with the topic of the last exchange."""
        topics = [
            option
            for option in antecedents(builder.query, gap, discourse, now=request.now)
            if option.candidate.distance <= _GAP_TURNS and option.candidate.named and not option.candidate.members
        ]
        builder.consider(gap, topics)
        if topics and confidence(topics) >= self._floor:
            builder.resolve(gap, topics, inferred=True)


def _merge_mentions(carried: Sequence[Mention], found: Sequence[Mention]) -> tuple[Mention, ...]:
    """The carried mentions, and those found that overlap none of them.

    Where a model's guess of the type differs from the type found, the type becomes None.
    """
    types = {(mention.start, mention.end): mention.subtype for mention in found if mention.subtype}
    kept = []
    for mention in carried:
        doubted = (
            mention.source.startswith(GUESSED)
            and types.get((mention.start, mention.end), mention.subtype) is not mention.subtype
        )
        kept.append(mention.model_copy(update={"subtype": None}) if doubted else mention)
    more = [
        mention
        for mention in found
        if all(mention.end <= other.start or other.end <= mention.start for other in carried)
    ]
    return tuple(sorted((*kept, *more), key=lambda mention: mention.start))


def _find_references_or_gap(query: str) -> tuple[tuple[Reference, ...], Reference | None]:
    references = find_references(query)[:REFERENCES]
    return references, None if references else find_ellipsis(query)


async def possible_referents(word: str, request: ResolutionRequest, *, resolver: Resolver) -> list[Alternative]:
    """The distinct antecedents that a referring expression may have, best first; empty where it does not refer.

    Args:
        word: Any expression: 它, 這個系統, 上週提到的, "the latter".
        request: The session and long-term memory; its query is ignored.
        resolver: Called with a sentence that contains the expression.
    """
    words = [word.strip()]
    if fold_lower(words[0]) in _POINTING:
        words.append("它" if has_han(word) else "it")
    for expression in words:
        query = f"{expression}怎麼樣？" if has_han(word) else f"Tell me about {expression}."
        result = await resolver.resolve(request.model_copy(update={"query": query}))
        found: dict[str, Alternative] = {}
        for resolution in (*result.resolutions, *result.unresolved):
            for option in (*_resolved(resolution), *resolution.alternatives):
                found.setdefault(option.entity_id or option.text, option)
        if found:
            return list(found.values())
    return []


def _resolved(resolution: CoreferenceResolution) -> tuple[Alternative, ...]:
    if resolution.resolved_text == resolution.original_text:
        return ()
    found = Alternative(
        text=resolution.resolved_text,
        entity_id=resolution.entity_id,
        source=resolution.source,
        score=resolution.confidence,
    )
    return (found,)
