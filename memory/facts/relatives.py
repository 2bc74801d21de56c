"""Whom a word like "my sister" or 老婆 means, as far as the speaker has said it."""

import re

from ..language.kin_words import RELATIONS, any_of
from ..ports.stores.record import UnitOfWork
from ..values.facts import SPEAKER, Fact
from ..values.text import fold_lower
from .statements import bare_name

_WORDS = re.compile(any_of(RELATIONS))
_OF_SEVERAL_KINDS = frozenset({"pet", "sibling", "child", "parent"})
"""Predicates of which the word tells which one is meant: a sister is no brother."""


def relation_words(text: str) -> list[str]:
    """The words of a text that mean one person or animal of the speaker, folded; each once."""
    return list(dict.fromkeys(_WORDS.findall(fold_lower(text))))


async def find_relative(unit: UnitOfWork, word: str) -> Fact | None:
    """The fact that names the one of the speaker's whom a word means; None where it is no such word, or several fit.

    Args:
        unit: Of the speaker.
        word: Without "my": `sister`, 老婆.
    """
    folded = fold_lower(word)
    predicate = RELATIONS.get(folded)
    if predicate is None:
        return None
    known = await unit.facts.find_potential_conflicts(SPEAKER, predicate)
    facts = {bare_name(fact.object): fact for fact in known if not fact.is_negated and not fact.is_planned}
    if predicate in _OF_SEVERAL_KINDS:
        facts = {name: fact for name, fact in facts.items() if await _is_said_with(unit, fact, folded)}
    return facts.popitem()[1] if len(facts) == 1 else None


async def _is_said_with(unit: UnitOfWork, fact: Fact, folded: str) -> bool:
    """Whether what states the fact has a folded word; what was given without being said may."""
    entries = await unit.log.get([fact.resource_id, *fact.evidence])
    return not entries or any(folded in fold_lower(entry.content) for entry in entries)
