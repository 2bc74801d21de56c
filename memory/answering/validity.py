"""What of a memory may be quoted, by the validity of what it states, and what is said with it."""

import re
from collections.abc import Callable, Sequence

from ..language.phrases import Phrases
from ..values.facts import SPEAKER, Doubt, Standing, Validity
from ..values.text import fold_lower

_CLAUSE = re.compile(r"(?:[^，。！？；\n,.!?;]|[,.!?;](?=\S))+(?:[，。！？；\n]|[,.!?;](?=\s|$))*\s*")
_JOINING = re.compile(r"^(?:and|but|so|而且|而|但是?|不過|不过|然後|然后)[\s,，]+|[\s,，;；]+$", re.IGNORECASE)


def valid_part(text: str, validity: Sequence[Validity]) -> str:
    """The clauses of a memory that are not out of date; all of it where nothing is, empty where nothing else is said.

    A clause that states something out of date beside something that is not stays.
    """
    outdated = [fact for fact in validity if fact.standing is Standing.OUTDATED]
    if not outdated:
        return text
    current = [fact for fact in validity if fact.standing is not Standing.OUTDATED]
    clauses = _CLAUSE.findall(text)
    cut = [clause for clause in clauses if _states(clause, outdated) and not _states(clause, current)]
    if not cut and not current:
        return ""
    return _JOINING.sub("", "".join(clause for clause in clauses if clause not in cut)).strip()


def words_that_hold(text: str, words: str, validity: Sequence[Validity]) -> str:
    """The words of a memory that answer; where they name a value that is over, the value beside it that holds.

    Of 「以前住新店，上個月搬到三峽」 either place may be read as where the user lives.
    """
    over = {(fact.subject, fact.predicate) for fact in validity if _is_over(fact) and _states(words, [fact])}
    beside = (
        fact.object
        for fact in validity
        if not _is_over(fact) and (fact.subject, fact.predicate) in over and _states(text, [fact])
    )
    return next(beside, words)


def _is_over(fact: Validity) -> bool:
    """Whether a fact is out of date, or its own words say that it is over; what held at a time that is asked is not."""
    return fact.standing is Standing.OUTDATED or (fact.standing is Standing.HOLDS and fact.ending is not None)


def without_doubtful(text: str, validity: Sequence[Validity], relevance: Callable[[str], int]) -> str:
    """A text without the clauses that state something in doubt, where the others are more relevant to the question."""
    doubtful = [fact for fact in validity if fact.standing is Standing.DOUBTFUL]
    clauses = _CLAUSE.findall(text)
    firm = "".join(clause for clause in clauses if not _states(clause, doubtful))
    unsure = "".join(clause for clause in clauses if _states(clause, doubtful))
    return _JOINING.sub("", firm).strip() if relevance(firm) > relevance(unsure) else text


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
    ids = {fact.fact_id for fact in facts}
    return any(not ids.isdisjoint(fact.conflicts_with) for fact in facts)


def _states(clause: str, facts: Sequence[Validity]) -> bool:
    folded = fold_lower(clause)
    return any(fold_lower(fact.object) in folded for fact in facts)


def _change(doubt: Doubt, phrases: Phrases) -> str:
    pattern = phrases.changes.get(doubt.predicate, phrases.changes[""])
    return pattern.format(subject=phrases.you if doubt.subject == SPEAKER else doubt.subject, object=doubt.object)
