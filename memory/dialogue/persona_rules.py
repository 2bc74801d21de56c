"""What a turn tells about the assistant's own character, and what becomes of it beside what is known (003 §2.1).

By the person of its clause a statement is about who is addressed or who speaks: 你叫小林 of the user, and 我住在台南 of
the assistant, are about the assistant. What is quoted is nobody's own statement.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from ..facts.persons import clause_at
from ..language.questions import speaks_of_hearer, speaks_of_self
from ..values.personas import MAX_LEARNED, PersonaProfile, Trait, TraitOrigin
from ..values.predicates import ONE_VALUED, OTHER
from ..values.text import normalise
from ..values.understanding.extractions import Extraction
from ..values.understanding.readings import Intent, Qualifier, StatedFact

Told = tuple[Trait, bool]
"""A trait, and whether it is so; False where it was said not to be."""
TRUST = {TraitOrigin.SAID: 0.8, TraitOrigin.TOLD: 0.9}
"""Factor on the reader's confidence: a model may make things up, and a user may tease."""
MIN_CONFIDENCE = 0.4
"""What is less sure is not kept."""
HALF_LIFE = timedelta(days=180)
"""After which a trait that nobody has repeated counts half as sure."""
_NOT_SO = frozenset({Qualifier.NEGATED, Qualifier.ENDED, Qualifier.PAST})
_UNSURE = frozenset({Qualifier.PLANNED, Qualifier.HEDGED})
_LIKING = frozenset({"likes", "prefers", "favourite"})
"""Predicates that say the same of one object."""
_QUOTED = re.compile(
    r"「[^」]*」|『[^』]*』|“[^”]*”|\"[^\"\n]*\"|```.*?(?:```|\Z)|^[>|][^\n]*|<(\w+)[^>]*>.*?</\1>",
    re.DOTALL | re.MULTILINE,
)
_SENTENCE_END = frozenset("。！？!?；;\n.")


def told_by_user(message: str, extraction: Extraction, *, source: str, at: datetime) -> list[Told]:
    """What a user's message says about the assistant, each with whether it holds.

    Args:
        message: The message, to which the offsets of the extraction belong.
        extraction: What was read in it.
        source: Its log entry.
        at: When it was said.
    """
    if Intent.FORGET in extraction.intents:
        return []
    return _traits(message, extraction.facts, origin=TraitOrigin.TOLD, source=source, at=at)


def said_by_assistant(
    reply: str, extraction: Extraction, *, injected: Sequence[str], source: str, at: datetime
) -> list[Told]:
    """What a reply says about the assistant itself, each with whether it holds.

    Args:
        reply: The reply, to which the offsets of the extraction belong.
        extraction: What was read in it.
        injected: Texts that were put into the prompt, as memories, documents and results of tools: what they hold may
            only be repeated from them.
        source: Its log entry.
        at: When it was said.
    """
    traits = _traits(reply, extraction.facts, origin=TraitOrigin.SAID, source=source, at=at)
    held = normalise("\n".join(injected))
    return [(trait, is_so) for trait, is_so in traits if normalise(trait.object) not in held]


def quoted_parts(text: str) -> tuple[str, ...]:
    """What a text quotes, as quotations, code and marked-up parts."""
    return tuple(match.group() for match in _QUOTED.finditer(text))


def with_told(known: Sequence[Trait], told: Iterable[Told], profile: PersonaProfile) -> list[Trait]:
    """What is known after something was told; nothing changes where its log entry was counted before.

    What is given holds against what is told. Of a predicate with one value the latest holds; saying it again makes it
    surer, saying that it is not so removes it.
    """
    traits = list(known)
    has_name = profile.name is not None
    for trait, is_so in told:
        same = next((other for other in traits if _is_same(other, trait)), None)
        if not is_so:
            traits = [other for other in traits if other is not same]
        elif trait.predicate == "name" and has_name:
            continue
        elif same is None:
            if trait.predicate in ONE_VALUED:
                traits = [other for other in traits if other.predicate != trait.predicate]
            traits.append(trait)
        elif not set(trait.sources) <= set(same.sources):
            traits[traits.index(same)] = _repeated(same, trait)
    return sorted(traits, key=lambda trait: -trait.confidence)[:MAX_LEARNED]


def consolidated(known: Sequence[Trait], *, now: datetime) -> list[Trait]:
    """What is known without what is said twice in other words, and without what nobody has repeated for long."""
    kept: list[Trait] = []
    for trait in known:
        same = next((other for other in kept if _is_same(other, trait) or _is_same_liking(other, trait)), None)
        if same is not None:
            kept[kept.index(same)] = _repeated(same, trait)
        elif faded(trait, now=now) >= MIN_CONFIDENCE / 2:
            kept.append(trait)
    return kept


def faded(trait: Trait, *, now: datetime) -> float:
    """How sure a trait is now: `confidence · 0.5^(age / half-life)`."""
    return float(trait.confidence * 0.5 ** max(0.0, (now - trait.said_at) / HALF_LIFE))


def _traits(text: str, facts: Sequence[StatedFact], *, origin: TraitOrigin, source: str, at: datetime) -> list[Told]:
    quoted = [match.span() for match in _QUOTED.finditer(text)]
    found = []
    for fact in facts:
        place = fact.object.start
        if fact.subject is not None or fact.object.turn is not None or fact.predicate == OTHER:
            continue
        if not _UNSURE.isdisjoint(fact.qualifiers) or any(start <= place < end for start, end in quoted):
            continue
        confidence = round(fact.confidence * TRUST[origin], 3)
        if confidence < MIN_CONFIDENCE or not _is_about_assistant(text, place, origin):
            continue
        trait = Trait(
            predicate=fact.predicate,
            object=fact.object.text,
            origin=origin,
            confidence=confidence,
            sources=(source,),
            said_at=at,
        )
        found.append((trait, _NOT_SO.isdisjoint(fact.qualifiers)))
    return found


def _is_about_assistant(text: str, place: int, origin: TraitOrigin) -> bool:
    """By the person of the clause; a clause that names none goes on with the one before it in its sentence."""
    start = place
    while True:
        start, clause = clause_at(text, start)
        is_self, is_hearer = speaks_of_self(clause), speaks_of_hearer(clause)
        if is_self or is_hearer:
            return is_self != is_hearer and is_hearer == (origin is TraitOrigin.TOLD)
        if start == 0 or text[:start].rstrip()[-1:] in _SENTENCE_END:
            return False
        start -= 1


def _is_same(left: Trait, right: Trait) -> bool:
    return left.predicate == right.predicate and normalise(left.object) == normalise(right.object)


def _is_same_liking(left: Trait, right: Trait) -> bool:
    return {left.predicate, right.predicate} <= _LIKING and normalise(left.object) == normalise(right.object)


def _repeated(known: Trait, again: Trait) -> Trait:
    return known.model_copy(
        update={
            "confidence": round(1 - (1 - known.confidence) * (1 - again.confidence), 3),
            "sources": tuple(dict.fromkeys((*known.sources, *again.sources))),
            "said_at": max(known.said_at, again.said_at),
        }
    )
