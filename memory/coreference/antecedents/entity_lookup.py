"""Finds the entities of the spans that a rewriter copied."""

from collections.abc import Sequence

from ...values.dialogue import Turn
from ...values.entities import Entity
from ...values.rewrites import Antecedent
from ...values.text import normalise

_BRACKETS = tuple(zip("《〈「『（(“", "》〉」』）)”", strict=True))


class EntityLookup:
    """Finds entities by their names in long-term memory and by the mentions of the turns.

    Args:
        long_term: Entities, latest mention first.
        turns: Indexed by `Antecedent.turn`.
    """

    def __init__(self, long_term: Sequence[Entity], turns: Sequence[Turn]) -> None:
        self._turns = turns
        self._written = {
            name for entity in long_term if entity.is_current for name in (*entity.aliases, entity.entity_value)
        }
        self._named = {
            normalise(name): entity.entity_id
            for entity in reversed(long_term)
            if entity.is_current
            for name in (*entity.aliases, entity.entity_value)
        }

    def whole(self, antecedent: Antecedent) -> Antecedent:
        """The span extended to the known name around it (京 → 京都) and to a missing bracket (活著》 → 《活著》)."""
        if antecedent.turn is None:
            return antecedent
        content = self._turns[antecedent.turn].content
        spans = [
            (at, at + len(name))
            for name in self._written
            for at in range(max(0, antecedent.end - len(name)), antecedent.start + 1)
            if content.startswith(name, at) and len(name) > antecedent.end - antecedent.start
        ]
        start, end = max(spans, key=lambda span: span[1] - span[0], default=(antecedent.start, antecedent.end))
        for opening, closing in _BRACKETS:
            if closing in content[start:end] and content.endswith(opening, 0, start):
                start -= 1
            elif opening in content[start:end] and content.startswith(closing, end):
                end += 1
        return antecedent.model_copy(update={"text": content[start:end], "start": start, "end": end})

    def ids(self, antecedents: Sequence[Antecedent]) -> tuple[str, ...]:
        """Distinct ids of the entities that the spans name or contain."""
        return tuple(dict.fromkeys(found for antecedent in antecedents for found in self._of(antecedent)))

    def _of(self, antecedent: Antecedent) -> list[str]:
        known = self._named.get(normalise(antecedent.text))
        if known is not None:
            return [known]
        mentions = (self._turns[antecedent.turn].mentions or ()) if antecedent.turn is not None else ()
        return [
            mention.entity_id
            for mention in mentions
            if mention.entity_id and antecedent.start <= mention.start and mention.end <= antecedent.end
        ]
