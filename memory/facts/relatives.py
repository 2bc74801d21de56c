"""Whom a word like "my sister" or 老婆 means, as far as the speaker has said it."""

import re
from collections.abc import Mapping

from ..ports.stores.record import UnitOfWork
from ..values.facts import SPEAKER, Fact
from ..values.text import fold_lower, has_han
from .statements import bare_name

_RELATIONS: Mapping[str, str] = {
    **dict.fromkeys(("husband", "wife", "老公", "老婆", "先生", "太太", "丈夫", "妻子"), "spouse"),
    **dict.fromkeys(("boyfriend", "girlfriend", "partner", "男友", "女友", "男朋友", "女朋友"), "partner"),
    **dict.fromkeys(("boss", "manager", "主管", "老板", "经理"), "manager"),
    **dict.fromkeys(("roommate", "flatmate", "housemate", "室友"), "roommate"),
    **dict.fromkeys(("dog", "cat", "pet", "狗", "猫"), "pet"),
    **dict.fromkeys(("brother", "sister", "哥哥", "弟弟", "姐姐", "妹妹", "哥", "弟", "姐", "妹"), "sibling"),
    **dict.fromkeys(("son", "daughter", "儿子", "女儿"), "child"),
    **dict.fromkeys(("mother", "mum", "mom", "father", "dad", "妈妈", "爸爸", "妈", "爸"), "parent"),
}
"""Words for one person or animal of the speaker, and the predicate that says who it is."""
_WORDS = re.compile(
    rf"\b(?:{'|'.join(word for word in _RELATIONS if not has_han(word))})\b"
    rf"|{'|'.join(sorted(filter(has_han, _RELATIONS), key=len, reverse=True))}"
)
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
    predicate = _RELATIONS.get(folded)
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
