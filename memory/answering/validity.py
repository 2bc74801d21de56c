"""What of a memory may be quoted, by the validity of what it states, and what is said with it."""

import re
from collections.abc import Callable, Iterable, Sequence

from ..language.phrases import Phrases
from ..language.sentences import join_clauses, split_clauses
from ..values.facts import SPEAKER, Doubt, Standing, Validity
from ..values.text import fold_lower, normalise

_NUMERAL = re.compile(r"[\d一二三四五六七八九十百千]")


def valid_part(text: str, validity: Sequence[Validity]) -> str:
    """The clauses of a memory that are not out of date; all of it where nothing is, empty where nothing else is said.

    A clause that states something out of date beside something that is not stays.
    """
    outdated = [fact for fact in validity if fact.standing is Standing.OUTDATED]
    if not outdated:
        return text
    current = [fact for fact in validity if fact.standing is not Standing.OUTDATED]
    clauses = split_clauses(text)
    cut = [clause for clause in clauses if _states(clause, outdated) and not _states(clause, current)]
    if not cut and not current:
        return ""
    return join_clauses(clause for clause in clauses if clause not in cut)


def words_that_hold(text: str, words: str, validity: Sequence[Validity], known: Sequence[Validity]) -> str | None:
    """The words of a memory that surely hold, where it names several values of one matter; None where it does not.

    Words that name a value that is over give way to the one that holds instead, and that one is no more in doubt. Of
    「以前住新店，上個月搬到三峽」 either place may be read as where the user lives; 「六歲不是五歲」 names both values.

    Args:
        text: The memory.
        words: Those that were read as the answer.
        validity: The facts that it states.
        known: What it or any other memory states.
    """
    named = [fact for fact in known if _states(text, [fact])]
    value = value_instead(text, [fact for fact in named if _states(words, [fact])], validity)
    holding = {normalise(fact.object) for fact in _instead(named, validity)}
    return value or (words if normalise(words) in holding else None)


def value_instead(text: str, facts: Iterable[Validity], validity: Sequence[Validity]) -> str | None:
    """The first value in a memory that holds instead of those of the facts that are over; None where it states none."""
    return next((fact.object for fact in _instead(facts, validity) if _states(text, [fact])), None)


def states_outdated(text: str, words: str, validity: Sequence[Validity]) -> bool:
    """Whether these words of a memory, or all of it, state what is out of date."""
    outdated = [fact for fact in validity if fact.standing is Standing.OUTDATED]
    current = [fact for fact in validity if fact.standing is not Standing.OUTDATED]
    if names_any(words, outdated) and not names_any(words, current):
        return True
    valid = valid_part(text, validity)
    return valid != text and (not valid or (bool(words) and words not in valid))


def names_any(words: str, facts: Sequence[Validity]) -> bool:
    """Whether words name the object of one of these facts, or are a part of its name."""
    folded = fold_lower(words)
    return bool(folded) and (_states(words, facts) or any(folded in fold_lower(fact.object) for fact in facts))


def _instead(facts: Iterable[Validity], validity: Sequence[Validity]) -> list[Validity]:
    """What of a memory's facts holds for the subject and predicate of facts that are over."""
    matters = {(fact.subject, fact.predicate) for fact in facts if _is_over(fact)}
    return [fact for fact in validity if not _is_over(fact) and (fact.subject, fact.predicate) in matters]


def _is_over(fact: Validity) -> bool:
    """Whether a fact is out of date, or its own words say that it is over; what held at a time that is asked is not."""
    return fact.standing is Standing.OUTDATED or (fact.standing is Standing.HOLDS and fact.ending is not None)


def without_doubtful(text: str, validity: Sequence[Validity], relevance: Callable[[str], int]) -> str:
    """A text without the clauses that state something in doubt, where the others are more relevant to the question."""
    doubtful = [fact for fact in validity if fact.standing is Standing.DOUBTFUL]
    clauses = split_clauses(text)
    firm = "".join(clause for clause in clauses if not _states(clause, doubtful))
    unsure = "".join(clause for clause in clauses if _states(clause, doubtful))
    return join_clauses([firm]) if relevance(firm) > relevance(unsure) else text


def stated_in(text: str, validity: Sequence[Validity]) -> list[Validity]:
    """The facts that a quotation states, without those that are out of date."""
    current = [fact for fact in validity if fact.standing is not Standing.OUTDATED]
    named = [fact for fact in current if _states(text, [fact])]
    return named or current


def qualified(quote: str, facts: Sequence[Validity], phrases: Phrases) -> str:
    """A quotation with what must be said with it: that it was so before, or until when."""
    doubtful = [fact.doubt for fact in facts if fact.standing is Standing.DOUBTFUL]
    if doubtful:
        doubt = next(filter(None, doubtful), None)
        if doubt is None:
            return phrases.unsure.format(quote=quote)
        date = doubt.told_at.date().isoformat()
        return phrases.doubtful.format(change=_change(doubt, phrases), date=date, quote=quote)
    ends = [fact.valid_to for fact in facts if fact.standing is Standing.HELD and fact.valid_to is not None]
    return phrases.until.format(quote=quote, date=max(ends).date().isoformat()) if ends else quote


def are_in_conflict(facts: Sequence[Validity]) -> bool:
    """Whether two of these facts contradict each other."""
    return contradict(facts, facts)


def contradict(facts: Iterable[Validity], others: Iterable[Validity]) -> bool:
    """Whether one of these facts contradicts one of the others."""
    ids = {fact.fact_id for fact in others}
    return any(not ids.isdisjoint(fact.conflicts_with) for fact in facts)


def _states(clause: str, facts: Sequence[Validity]) -> bool:
    folded = fold_lower(clause)
    return any(_is_in(fold_lower(fact.object), folded) for fact in facts)


def _is_in(name: str, text: str) -> bool:
    """Whether a text has a name, and not only as a part of a number: 五歲 is not in 十五歲, nor 5 in 2.5."""
    if name not in text or not (_NUMERAL.match(name) or name[-1:].isdecimal()):
        return name in text
    before = rf"(?<!{_NUMERAL.pattern})(?<!\d[.,:])" if _NUMERAL.match(name) else ""
    after = r"(?![.,:]?\d)" if name[-1:].isdecimal() else ""
    return re.search(before + re.escape(name) + after, text) is not None


def _change(doubt: Doubt, phrases: Phrases) -> str:
    pattern = phrases.changes.get(doubt.predicate, phrases.changes[""])
    return pattern.format(subject=phrases.you if doubt.subject == SPEAKER else doubt.subject, object=doubt.object)
