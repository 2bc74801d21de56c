"""Facts over units as facts over the texts of the request."""

from typing import TYPE_CHECKING

from memory.values.understanding.readings import NAMES_TURN, FactSpan, StatedFact

if TYPE_CHECKING:
    from .fact_decoding import DecodedFact, UnitSpan
    from .features import Features
    from .inference import Found


def facts_of(found: "Found") -> list[StatedFact]:
    """The facts of a window; of equal ones the most probable."""
    facts: dict[tuple[str, str, str], StatedFact] = {}
    for decoded in found.facts:
        fact = _fact(decoded, found.features)
        key = (fact.subject.text if fact.subject else "", fact.predicate, fact.object.text)
        if key not in facts or facts[key].confidence < fact.confidence:
            facts[key] = fact
    return [fact for fact in facts.values() if fact.subject is None or fact.subject.text != fact.object.text]


def _fact(decoded: "DecodedFact", features: "Features") -> StatedFact:
    return StatedFact(
        subject=None if decoded.subject is None else _span(decoded.subject, features),
        predicate=decoded.predicate,
        object=_span(decoded.object, features),
        qualifiers=decoded.qualifiers,
        time=None if decoded.time is None else _span(decoded.time, features),
        confidence=min(1.0, decoded.probability),
    )


def _span(span: "UnitSpan", features: "Features") -> FactSpan:
    first, last = span
    context = len(features.source.units)
    if first >= context:
        start, end = features.units[first - context].start, features.units[last - context].end
        return FactSpan(text=features.text[start:end], start=start, end=end)
    start, end = features.source.units[first].start, features.source.units[last].end
    number = features.source.turn_of[first]
    turn = features.turn_numbers[number]
    text = features.source.turns[number][start:end]
    return FactSpan(text=text, start=start, end=end, turn=NAMES_TURN if turn is None else turn)
