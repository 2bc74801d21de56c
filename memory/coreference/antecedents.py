"""Says of the spans that the reader found which entities they are, and where they stand."""

from collections.abc import Iterator, Sequence

from ..values.text import normalise
from ..values.understanding.dialogue import Role
from ..values.understanding.mentions import EntitySubtype, Mention, MentionLevel
from ..values.understanding.readings import ContextSpan
from ..values.understanding.resolutions import Alternative, ReferenceSource, ResolutionRequest
from .context import context_turns


class Antecedents:
    """The turns and the long-term memory of a request, in which antecedents stand.

    Args:
        request: Of the query; its turns are counted as `context_turns` gives them to the reader.
    """

    def __init__(self, request: ResolutionRequest) -> None:
        self._turns = context_turns(request.turns)
        current = [entity for entity in reversed(request.long_term) if entity.is_current]
        self._by_name = {
            normalise(name): entity for entity in current for name in (*entity.aliases, entity.entity_value)
        }
        self._by_id = {entity.entity_id: entity for entity in current}

    def ids(self, spans: Sequence[ContextSpan]) -> tuple[str, ...]:
        """Distinct ids of the entities that the spans name or contain."""
        return tuple(dict.fromkeys(entity_id for span in spans for entity_id in self._ids_of(span)))

    def entity(self, name: str) -> tuple[str | None, EntitySubtype | None]:
        """Id and type of the entity with this name: of long-term memory, else of the latest mention in the turns."""
        key = normalise(name)
        if entity := self._by_name.get(key):
            return entity.entity_id, entity.subtype
        found = [mention for mention in self._mentions() if normalise(mention.text) == key]
        return next((mention.entity_id for mention in found), None), next(
            (mention.subtype for mention in found if mention.subtype), None
        )

    def names(self) -> list[str]:
        """The names in the turns, latest first, and those of long-term memory."""
        stored = [name for entity in self._by_id.values() for name in (entity.entity_value, *entity.aliases)]
        return [*(mention.text for mention in self._mentions()), *stored]

    def alternative(self, span: ContextSpan) -> Alternative:
        """A span in the form of a result."""
        ids = self.ids((span,))
        return Alternative(
            text=span.text,
            entity_id=ids[0] if ids else None,
            source=ReferenceSource.LONG_TERM if span.turn is None else ReferenceSource.SESSION,
            score=span.probability,
        )

    def exchanges_back(self, span: ContextSpan) -> int | None:
        """Exchanges between a span and the query, 0 for the query itself; None for long-term memory."""
        if span.turn is None:
            return None
        if span.turn >= len(self._turns):
            return 0
        return 1 + sum(turn.role is Role.USER for turn in self._turns[span.turn + 1 :])

    def subtype(self, span: ContextSpan) -> EntitySubtype | None:
        """The type of the entity, where it is known."""
        stored = [self._by_id[entity_id].subtype for entity_id in self.ids((span,)) if entity_id in self._by_id]
        found = [mention.subtype for mention in self._mentions_in(span) if mention.text == span.text]
        return next((subtype for subtype in (*stored, *found) if subtype), None)

    def _ids_of(self, span: ContextSpan) -> list[str]:
        if entity := self._by_name.get(normalise(span.text)):
            return [entity.entity_id]
        return [mention.entity_id for mention in self._mentions_in(span) if mention.entity_id]

    def _mentions(self) -> Iterator[Mention]:
        """The names that the turns mention, latest turn first."""
        for turn in reversed(self._turns):
            yield from (mention for mention in turn.mentions or () if mention.level is MentionLevel.LONG_TERM)

    def _mentions_in(self, span: ContextSpan) -> list[Mention]:
        """The mentions of a turn that lie in the span."""
        if span.turn is None or span.turn >= len(self._turns):
            return []
        mentions = self._turns[span.turn].mentions or ()
        return [mention for mention in mentions if span.start <= mention.start and mention.end <= span.end]
