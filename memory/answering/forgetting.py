"""What is said to a request to forget: what is gone, which is meant, or that there was nothing; never a value of it.

Of a message that is forgotten in part the other part is quoted, so that the user sees what stays.
"""

from collections.abc import Sequence

from ..language.phrases import ENGLISH, SIMPLIFIED, Phrases
from ..language.predicate_nouns import OTHER_NOUNS, PREDICATE_NOUNS
from ..values.governance.forgetting import ForgetOutcome, ForgetReport, Forgettable
from ..values.text import to_simplified

_SENTENCES = {
    ForgetOutcome.REMOVED: "forgotten",
    ForgetOutcome.WHICH: "forget_which",
    ForgetOutcome.NOT_FOUND: "forget_nothing",
    ForgetOutcome.NOT_KEPT: "not_kept",
    ForgetOutcome.KEPT: "kept",
    ForgetOutcome.EVERYTHING: "forget_everything",
    ForgetOutcome.ALREADY: "forgotten_already",
}
"""The field of `Phrases` for each outcome."""


def forget_reply(report: ForgetReport, phrases: Phrases) -> str:
    """The reply to a request to forget."""
    things = listed(names_of(report.things, phrases), phrases)
    if report.kept:
        opening, closing = phrases.quotation_marks[0], phrases.quotation_marks[1]
        rests = [f"{opening}{phrases.nested(rest)}{closing}" for rest in report.kept]
        return phrases.forgotten_in_part.format(things=things, rests=listed(rests, phrases))
    is_one = report.outcome is ForgetOutcome.WHICH and len(report.things) == 1
    sentence: str = getattr(phrases, "forget_this" if is_one else _SENTENCES[report.outcome])
    return sentence.format(things=things)


def names_of(things: Sequence[Forgettable], phrases: Phrases) -> list[str]:
    """What things are called, each name once."""
    return list(dict.fromkeys(_name(thing, phrases) for thing in things))


def listed(names: Sequence[str], phrases: Phrases) -> str:
    """Names in a row: A, B and C."""
    *others, last = names or [phrases.just_said]
    return phrases.listing.join(others) + phrases.also + last if others else last


def _name(thing: Forgettable, phrases: Phrases) -> str:
    if thing.name is not None:
        return phrases.all_about.format(name=thing.name)
    if thing.predicate is not None:
        return _name_of_fact(thing.subject, thing.predicate, phrases)
    if thing.said_at is None:
        return phrases.just_said
    date = thing.said_at.date().isoformat()
    return (
        phrases.said_on.format(date=date)
        if thing.quote is None
        else phrases.quoted_on.format(date=date, quote=phrases.nested(thing.quote))
    )


def _name_of_fact(subject: str | None, predicate: str, phrases: Phrases) -> str:
    english, chinese = PREDICATE_NOUNS.get(predicate, OTHER_NOUNS)
    if phrases is ENGLISH:
        return _english_name(subject, english)
    if subject is not None and subject.endswith(chinese):  # 車位密碼, not 車位密碼的密碼
        name = f"您的{subject}"
    else:
        name = f"{subject or '您'}{'' if '的' in chinese else '的'}{chinese}"  # 您見過的人, not 您的見過的人
    return to_simplified(name) if phrases is SIMPLIFIED else name


def _english_name(subject: str | None, noun: str) -> str:
    if subject is None:
        return f"your {noun}"
    if not {*noun.split()}.isdisjoint(subject.split()):  # the gate code, not the code of the gate code
        return f"your {subject}"
    return f"{subject}'s {noun}" if subject[0].isupper() else f"the {noun} of your {subject}"
