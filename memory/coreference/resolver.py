"""The resolver without a trained model: rules find references, a transparent score chooses their antecedents."""

import asyncio
from collections.abc import Sequence

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
        query = request.query
        references, gap = await asyncio.to_thread(_detect, query)
        unchanged = CoreferenceResult(original_query=query, resolved_query=query)
        if not (request.turns or request.long_term or references) or not (references or gap):
            return unchanged
        mentions = await self._mentions(request)
        discourse = await asyncio.to_thread(self._read_history, request, mentions[:-1])
        reading = _Reading(query, writes_spaces([query, *(turn.content for turn in request.turns[-_TURNS:])]))
        if not references and gap:
            self._fill_gap(gap, discourse, reading)
            return reading.result()
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
            if not is_bound(query, reference, best):
                reading.resolve(reference, ranked)
            discourse.refer(best, user=True, end=reference.end)
            reading.position = reference.end
        return reading.result()

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
        self._spaces = spaces
        self._edits: list[Edit] = []
        self._resolved: list[CoreferenceResolution] = []
        self._unresolved: list[CoreferenceResolution] = []
        self._entities: dict[str, None] = {}

    def resolve(self, reference: Reference, ranked: Sequence[Ranked], *, inferred: bool = False) -> None:
        best = ranked[0].candidate
        change = edit(self.query, reference, best.text, number=best.number, spaces=self._spaces)
        self._edits.append(change)
        owned = reference.kind is Kind.ELLIPSIS and reference.form is Form.POSSESSIVE
        found = self._resolution(reference, ranked, resolved=change.text.strip() if owned else best.text)
        self._resolved.append(found.model_copy(update={"source": ReferenceSource.INFERENCE}) if inferred else found)
        self._entities |= dict.fromkeys(_ids(best))

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

    def result(self) -> CoreferenceResult:
        return CoreferenceResult(
            original_query=self.query,
            resolved_query=apply(self.query, self._edits),
            resolutions=tuple(self._resolved),
            unresolved=tuple(self._unresolved),
            confidence=min((one.confidence for one in self._resolved), default=0.0 if self._unresolved else 1.0),
            entities_found=tuple(self._entities),
        )


def _ids(candidate: Candidate) -> list[str]:
    members = candidate.members or (candidate,)
    return [member.entity_id for member in members if member.entity_id]


def _alternative(one: Ranked) -> Alternative:
    return Alternative(
        text=one.candidate.text, entity_id=one.candidate.entity_id, source=one.candidate.source, score=one.score
    )
