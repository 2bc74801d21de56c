"""The resolver without a trained model: rules find references, a transparent score chooses their antecedents."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from ..dialogue import Role
from ..errors import InvalidField, Overloaded, Unavailable
from ..extraction.mentions import Mention
from ..ports.language import Encoder, Extractor, Resolver
from .antecedents import antecedents, is_bound
from .candidates import Candidate
from .detection import find_references
from .discourse import Discourse
from .ellipsis import find_ellipsis
from .ranking import WEIGHTS, Ranked, confidence, is_close
from .reasons import reason
from .references import Form, Kind, Reference
from .resolutions import Alternative, CoreferenceResolution, CoreferenceResult, ReferenceSource, ResolutionRequest
from .rewriting import Edit, apply, edit, writes_spaces
from .similarity import Similarity

_log = structlog.get_logger(__name__)

_TURNS = 12  # read of a session: what is further back is meant by name
_COMPARED = 4  # candidates that the encoder compares
_SHOWN = 5  # alternatives in a result
_REFERENCES = 24  # followed in one text; what comes after them stays as it is written
_GAP_TURNS = 2  # an ellipsis takes its topic from the last exchange


@dataclass(frozen=True, slots=True)
class Written:
    """A resolution, how it is written into the query, and the entities that it means."""

    resolution: CoreferenceResolution
    edit: Edit
    entity_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Analysis:
    """What the rules made of a query, for a resolver that knows more.

    Attributes:
        result: The resolved query.
        references: All references found, in order, resolved or not.
        bound: Those that their own sentence resolves, so that nothing has to be written.
        written: `result.resolutions`, in the same order.
        candidates: What the session has mentioned; empty where nothing refers.
        spaces: Whether the user sets Latin and Han apart.
    """

    result: CoreferenceResult
    references: tuple[Reference, ...] = ()
    bound: tuple[Reference, ...] = ()
    written: tuple[Written, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    spaces: bool = True


class RuleResolver(Resolver):
    """Resolves Chinese and English references by rules and a weighted score.

    Args:
        extractor: Finds names in turns that carry no mentions yet, and in the query.
        encoder: Breaks ties between close candidates; without one they stay as the features ranked them.
        floor: Confidence below which a reference is left as it was, 0–1.
    """

    def __init__(self, *, extractor: Extractor, encoder: Encoder | None = None, floor: float = 0.5) -> None:
        if not 0.0 <= floor <= 1.0:
            raise InvalidField(f"floor is {floor}, it must lie in 0–1.", field="floor", allowed="0–1")
        self._extractor = extractor
        self._similarity = Similarity(encoder) if encoder else None
        self._floor = floor

    async def resolve(self, request: ResolutionRequest) -> CoreferenceResult:
        """Resolves what can be resolved above the confidence floor; the rest stays as it was."""
        return (await self.analyse(request)).result

    async def analyse(self, request: ResolutionRequest) -> Analysis:
        """Resolves a query and says from what."""
        query = request.query
        references, gap = await asyncio.to_thread(_detect, query)
        spaces = writes_spaces([query, *(turn.content for turn in request.turns[-_TURNS:])])
        reading = _Reading(query, spaces)
        if not (request.turns or request.long_term or references) or not (references or gap):
            return reading.analysis(references)
        mentions = await self._mentions(request)
        discourse = await asyncio.to_thread(self._read_history, request, mentions[:-1])
        if not references and gap:
            self._fill_gap(gap, discourse, reading)
            return reading.analysis((gap,), discourse)
        for reference in references:
            await asyncio.to_thread(
                discourse.read, query, mentions[-1], user=True, start=reading.position, end=reference.start
            )
            reading.position = reference.start
            ranked = antecedents(query, reference, discourse, last_referred=request.last_referred_entity)
            ranked = await self._compared(query, reference, ranked)
            if not ranked or confidence(ranked) < self._floor:
                if not reference.quiet:
                    reading.leave(reference, ranked)
                continue
            best = ranked[0].candidate
            if is_bound(query, reference, best):
                reading.bound.append(reference)
            else:
                reading.resolve(reference, ranked)
            discourse.refer(best, user=True, end=reference.end)
            reading.position = reference.end
        return reading.analysis(references, discourse)

    async def _mentions(self, request: ResolutionRequest) -> list[tuple[Mention, ...]]:
        """Mentions of each of the last turns and, last, of the query."""
        turns = request.turns[-_TURNS:]
        unread = [turn.content for turn in turns if turn.mentions is None] + [request.query]
        known = tuple(name for entity in request.long_term for name in (entity.entity_value, *entity.aliases))
        found = iter(await self._extractor.extract(unread, known=[known] * len(unread)))
        read = [next(found).mentions if turn.mentions is None else turn.mentions for turn in turns]
        return [*read, next(found).mentions]

    def _read_history(self, request: ResolutionRequest, mentions: Sequence[tuple[Mention, ...]]) -> Discourse:
        """Reads the turns and resolves their own references: 它 → 這個系統 → AI-Box ends at the name."""
        discourse = Discourse(request.long_term)
        for turn, named in zip(request.turns[-_TURNS:], mentions, strict=True):
            user = turn.role is Role.USER
            if not user and turn.mentions == ():  # a stock phrase: it introduces nothing to refer to
                discourse.next_turn()
                continue
            position = 0
            for reference in find_references(turn.content)[:_REFERENCES]:
                discourse.read(turn.content, named, user=user, start=position, end=reference.start)
                position = reference.start
                ranked = antecedents(turn.content, reference, discourse)
                if ranked and confidence(ranked) >= self._floor:
                    discourse.refer(ranked[0].candidate, user=user, end=reference.end)
                    position = reference.end
            discourse.read(turn.content, named, user=user, start=position)
            discourse.next_turn()
        return discourse

    async def _compared(self, query: str, reference: Reference, ranked: list[Ranked]) -> list[Ranked]:
        """Lets the encoder decide between close candidates; when it cannot answer the ranking stands."""
        if not self._similarity or not is_close(ranked):
            return ranked
        head = ranked[:_COMPARED]
        try:
            near = await self._similarity.compare(
                query[: reference.start] + query[reference.end :], [one.candidate.text for one in head]
            )
        except (Overloaded, Unavailable) as error:
            _log.warning("coreference.similarity_skipped", error=error.message)
            return ranked
        weighed = [
            Ranked(
                one.candidate,
                one.score + WEIGHTS["similarity"] * (value - one.features.get("similarity", 0.5)),
                {**one.features, "similarity": value},
            )
            for one, value in zip(head, near, strict=True)
        ]
        return sorted(weighed, key=lambda one: -one.score) + ranked[_COMPARED:]

    def _fill_gap(self, gap: Reference, discourse: Discourse, reading: "_Reading") -> None:
        """Puts the topic where a question left it out, if the last exchange has exactly one."""
        topics = [
            one
            for one in antecedents(reading.query, gap, discourse)
            if one.candidate.distance <= _GAP_TURNS and one.candidate.named and not one.candidate.members
        ]
        if topics and confidence(topics) >= self._floor:
            reading.resolve(gap, topics, inferred=True)


def _detect(query: str) -> tuple[tuple[Reference, ...], Reference | None]:
    references = find_references(query)[:_REFERENCES]
    return references, None if references else find_ellipsis(query)


class _Reading:
    """What one query has come to while its references are read from left to right."""

    def __init__(self, query: str, spaces: bool) -> None:
        self.query = query
        self.position = 0
        self.bound: list[Reference] = []
        self._spaces = spaces
        self._written: list[Written] = []
        self._unresolved: list[CoreferenceResolution] = []

    def resolve(self, reference: Reference, ranked: Sequence[Ranked], *, inferred: bool = False) -> None:
        best = ranked[0].candidate
        change = edit(self.query, reference, best.text, number=best.number, spaces=self._spaces)
        owned = reference.kind is Kind.ELLIPSIS and reference.form is Form.POSSESSIVE
        found = self._resolution(reference, ranked, resolved=change.text.strip() if owned else best.text)
        if inferred:
            found = found.model_copy(update={"source": ReferenceSource.INFERENCE})
        self._written.append(Written(found, change, tuple(_ids(best))))

    def leave(self, reference: Reference, ranked: Sequence[Ranked]) -> None:
        self._unresolved.append(self._resolution(reference, ranked, resolved=reference.text))

    def _resolution(self, reference: Reference, ranked: Sequence[Ranked], *, resolved: str) -> CoreferenceResolution:
        changed = resolved != reference.text
        best = ranked[0].candidate if ranked else None
        return CoreferenceResolution(
            original_text=reference.text,
            resolved_text=resolved,
            entity_id=best.entity_id if best and changed else None,
            source=best.source if best else ReferenceSource.SESSION,
            confidence=confidence(ranked),
            start=reference.start,
            end=reference.end,
            reason=reason(self.query, ranked) if changed else "",
            alternatives=tuple(_alternative(one) for one in ranked[1 if changed else 0 :][:_SHOWN]),
        )

    def analysis(self, references: Sequence[Reference], discourse: Discourse | None = None) -> Analysis:
        return Analysis(
            self._result(),
            tuple(references),
            tuple(self.bound),
            tuple(self._written),
            discourse.session() if discourse else (),
            self._spaces,
        )

    def _result(self) -> CoreferenceResult:
        return joined(self.query, self._written, self._unresolved)


def joined(
    query: str, written: Sequence[Written], unresolved: Sequence[CoreferenceResolution] = ()
) -> CoreferenceResult:
    """The result in which a query's resolutions, in text order, are written."""
    resolutions = tuple(one.resolution for one in written)
    return CoreferenceResult(
        original_query=query,
        resolved_query=apply(query, [one.edit for one in written]),
        resolutions=resolutions,
        unresolved=tuple(unresolved),
        confidence=min((one.confidence for one in resolutions), default=0.0 if unresolved else 1.0),
        entities_found=tuple(dict.fromkeys(found for one in written for found in one.entity_ids)),
    )


def _ids(candidate: Candidate) -> list[str]:
    members = candidate.members or (candidate,)
    return [member.entity_id for member in members if member.entity_id]


def _alternative(one: Ranked) -> Alternative:
    return Alternative(
        text=one.candidate.text, entity_id=one.candidate.entity_id, source=one.candidate.source, score=one.score
    )
