"""What a log entry states, ready to be compared with what is known: subjects named, times resolved, classified."""

import re
from collections.abc import Sequence
from datetime import datetime

from ..extraction.assertions import assertions_of
from ..language.kin_words import OTHERS, RELATIONS, any_of
from ..language.questions import speaks_of_self
from ..language.times import resolve_time
from ..values.base import Timestamp, Value
from ..values.entities import Confidence
from ..values.facts import SPEAKER, Fact
from ..values.periods import Period
from ..values.predicates import EVENTS, ONE_VALUED, SCHEDULES, CategoryName, category_of
from ..values.records import Resource
from ..values.text import fold_lower, normalise
from ..values.understanding.dialogue import Role
from ..values.understanding.extractions import Extraction
from ..values.understanding.mentions import EntitySubtype, MentionLevel
from ..values.understanding.readings import FactSpan, Intent, Qualifier, StatedFact
from .persons import SENTENCE_END, is_about_hearer, is_asked

HEDGED_FACTOR = 0.6
"""Factor on the confidence of what the speaker is not sure of."""

_OWN = re.compile(
    r"^(?:(?:my|our|your|the|an?|this|that)\s+|(?:我们?|你们?|您)(?:家)?的|(?:我们?|你们?|您)(?=.)|[这那][个台只辆间条支张本把件]?)",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"^(?:s?he|her|him|his|it|its|they|them|their|th[ei]se|that|this|[他她它牠祂]们?(?:的)?|[这那][个些]?)$"
)
_REFERS = re.compile(r"\b(?:s?he|her|him|his|it|its|they|them|their)\b|(?<!其)[他她它牠祂]")
_NAMES_THING = re.compile(
    r"(?<!\bin )(?<!\bat )(?<!\bon )(?<!\bto )(?<!\bof )(?<!\bby )(?<!\bfor )(?<!\bfrom )(?<!\bwith )"
    r"\b(?:the|an?|this|these|those|our) [a-z]"
)
"""A thing with an article that no preposition governs: the subject of its clause, in folded text."""
_OWNER = re.compile(
    rf"(?:(?:\b(?:my|our|his|her|their) |我们?的?)?(?:{any_of([*RELATIONS, *OTHERS])})(?:家?的|'s )\s*)$"
)
_STILL_TRUE_BEFORE = re.compile(
    r"\b(?:now|these days|any ?more|no longer|nowadays|since|as of|changed|(?<!n't )(?<!not )moved)\b"
    r"|现在|改到|改成|改为|换成|已经|不再|(?<!没)(?<!没有)搬|目前"
)
"""Words of a correction by which things have changed, so that what was said before was true."""
_TAKES_BACK = re.compile(
    r"\b(?:take (?:it|that) back|scratch that|ignore (?:that|what i(?: just)? said)|made that up"
    r"|(?:i was|just|only) (?:kidding|joking)|(?:that|what i said) was(?:n't true| wrong| a joke))\b"
    r"|当我没[说讲]|收回|开玩笑|骗你的|乱讲|瞎说|说错了?$|讲错了?$"
)
_FILLS = re.compile(
    r"\b(?:sorry|no|oh|haha|please|actually|i|was|just|only)\b|[我是刚才的话啦啊喔哦了吧哈]|不好意思|抱歉|[^\w]|_"
)


class Statement(Value):
    """A fact as one log entry states it.

    Args:
        subject: `SPEAKER`, or a name without "my" and "the".
        said_at: The date of the message.
        start: The begin that it names; None where it names none.
        end: The end that it names.
        corrects: Whether the message says that something said before was wrong.
        message: The folded message, for what a correction names besides.
    """

    user_id: str
    resource_id: str
    subject: str
    predicate: str
    object: str
    category: CategoryName
    qualifiers: tuple[Qualifier, ...] = ()
    time: str | None = None
    start: Timestamp | None = None
    end: Timestamp | None = None
    said_at: Timestamp
    confidence: Confidence = 1.0
    corrects: bool = False
    message: str = ""
    subject_id: str | None = None
    object_id: str | None = None


def statements_of(resource: Resource, extraction: Extraction) -> list[Statement]:
    """What a message states about its speaker and others, in its order.

    A fact of a subject that could not be resolved is left out. A name that is also said to be of somebody of the
    subject's (老闆姓羅) is not the subject's own.
    """
    facts = told_facts(resource.content, extraction)
    found = [_statement(fact, resource, extraction) for fact in facts]
    stated = [statement for statement in found if statement is not None]
    related = {
        (statement.subject, statement.object)
        for statement in stated
        if statement.category is CategoryName.RELATIONSHIPS
    }
    return [
        statement
        for statement in stated
        if statement.predicate != "name" or (statement.subject, statement.object) not in related
    ]


def told_facts(text: str, extraction: Extraction) -> list[StatedFact]:
    """The facts that a message tells, in its order.

    Not among them is what it asks, what it says to the one who is addressed about themselves, which is the assistant's
    persona (003 §2.1), and what the reader gives to a subject of an earlier turn where the message has its own.
    """
    asks = Intent.QUESTION in extraction.intents and Intent.REMEMBER not in extraction.intents
    return [
        fact
        for fact in extraction.facts
        if not (asks and is_asked(text, fact.object))
        and not is_about_hearer(text, fact)
        and _goes_on(text, fact, extraction)
    ]


def takes_back(resource: Resource, extraction: Extraction) -> bool:
    """Whether a message takes back what was said before it, without another value ("scratch that", 當我沒說)."""
    folded = fold_lower(resource.content)
    if resource.role is not Role.USER or extraction.facts or not _TAKES_BACK.search(folded):
        return False
    is_correction = not {Intent.CORRECTION, Intent.DENY}.isdisjoint(extraction.intents)
    return is_correction or not _FILLS.sub("", _TAKES_BACK.sub("", folded))


def bare_name(text: str) -> str:
    """A name without the words that say whose it is: my car, 我的車 and "the car" are `car` and `車`."""
    folded = fold_lower(text)
    start = 0
    while (match := _OWN.match(folded[start:])) and start + match.end() < len(folded):
        start += match.end()
    return text[start:].strip(" \t,，。.!！?？「」\"'") or text.strip()


def same_thing(left: str, right: str) -> bool:
    """Whether two words name the same thing, whoever's it is."""
    return normalise(bare_name(left)) == normalise(bare_name(right))


def has_part(left: str, right: str) -> bool:
    """Whether one of two names has the other in it, as whole words: "the Mazda" and "Mazda 3"."""
    short, long = sorted((fold_lower(bare_name(left)), fold_lower(bare_name(right))), key=len)
    return bool(re.search(rf"(?<![a-z0-9]){re.escape(short)}(?![a-z0-9])", long))


def says_same(fact: Fact, statement: Statement) -> bool:
    """Whether a fact has the object of a statement; subject and predicate are the same already."""
    if statement.object_id is not None and fact.object_id == statement.object_id:
        return True
    return same_thing(fact.object, statement.object)


def _goes_on(text: str, fact: StatedFact, extraction: Extraction) -> bool:
    """Whether the message tells a fact of its own subject, or has none and goes on about one of an earlier turn."""
    if fact.subject is None or fact.subject.turn is None:
        return True
    name = fold_lower(bare_name(fact.subject.text))
    rewritten = extraction.rewrite.replacements if extraction.rewrite else ()
    folded = fold_lower(text)
    if any(has_part(name, said) for said in (text, *(replacement.written for replacement in rewritten))):
        return True
    if any(_says_of_own(other, fact) for other in extraction.facts):
        return False
    if name.isascii() and re.search(rf"\b{re.escape(name.split()[-1])}\b", folded):
        return True  # "the offsite" may be the Lisbon offsite
    return not _has_subject(folded, fact.object, extraction)


def _says_of_own(other: StatedFact, fact: StatedFact) -> bool:
    """Whether another fact gives the same object to a subject of the message."""
    is_same = other.predicate == fact.predicate and other.object.turn == fact.object.turn
    is_own = other.subject is None or other.subject.turn is None
    return is_same and is_own and other.object.start < fact.object.end and fact.object.start < other.object.end


def _has_subject(folded: str, object_: FactSpan, extraction: Extraction) -> bool:
    """Whether something stands before an object in its sentence that can be its subject, and no pronoun."""
    if object_.turn is not None:
        return False
    start = max((end.end() for end in SENTENCE_END.finditer(folded, 0, object_.start)), default=0)
    before = folded[start : object_.start]
    names = [mention for mention in extraction.mentions if mention.level is MentionLevel.LONG_TERM]
    is_named = any(start <= name.start and name.end <= object_.start for name in names)
    return not _REFERS.search(before) and (
        is_named or speaks_of_self(before) or _NAMES_THING.search(before) is not None
    )


def _with_owner(span: FactSpan, text: str, extraction: Extraction) -> str:
    """The words of a subject, with whose it is where that is somebody else: "my wife's car", 我媽的車."""
    if span.turn is not None:
        return span.text
    before = fold_lower(text[: span.start])
    owner = _OWNER.search(before)
    start = owner.start() if owner else span.start
    for name in extraction.mentions:
        if name.subtype is EntitySubtype.PERSON and before[name.end :].strip() in ("'s", "的"):
            start = min(start, name.start)
    return text[start : span.end]


def _statement(fact: StatedFact, resource: Resource, extraction: Extraction) -> Statement | None:
    subject = SPEAKER if fact.subject is None else _resolved(fact.subject, extraction, resource.content)
    object_ = _resolved(fact.object, extraction)
    if subject is None or object_ is None:
        return None
    folded = fold_lower(resource.content)
    corrects = _corrects(extraction.intents, folded)
    qualifiers = set(fact.qualifiers)
    if corrects and _is_put_right(fact, resource.content, extraction):
        qualifiers.discard(Qualifier.NEGATED)
    period = _period(fact, resource.created_at)
    is_state = fact.predicate not in EVENTS | SCHEDULES
    if is_state and period.start and period.start > resource.created_at:
        qualifiers.add(Qualifier.PLANNED)
    if is_state and period.end and period.end <= resource.created_at and Qualifier.ENDED not in qualifiers:
        qualifiers.add(Qualifier.PAST)
    hedge = HEDGED_FACTOR if Qualifier.HEDGED in qualifiers else 1.0
    return Statement(
        user_id=resource.user_id,
        resource_id=resource.resource_id,
        subject=subject,
        predicate=fact.predicate,
        object=object_,
        category=category_of(fact.predicate),
        qualifiers=tuple(qualifier for qualifier in Qualifier if qualifier in qualifiers),
        time=fact.time.text if fact.time else None,
        start=period.start,
        end=period.end,
        said_at=resource.created_at,
        confidence=min(1.0, max(0.0, fact.confidence * hedge)),
        corrects=corrects,
        message=folded,
    )


def _is_put_right(fact: StatedFact, text: str, extraction: Extraction) -> bool:
    """Whether a correction denies another value of the same, and not this one: 我沒有搬到高雄，還是住台北."""
    if fact.predicate not in ONE_VALUED or fact.object.turn is not None:
        return False
    denied = [
        other
        for other in extraction.facts
        if other.predicate == fact.predicate and other.object != fact.object and Qualifier.NEGATED in other.qualifiers
    ]
    return bool(denied) and assertions_of(text).asserts(fact.object.start, fact.object.end)


def _corrects(intents: Sequence[Intent], folded: str) -> bool:
    is_correction = Intent.CORRECTION in intents or Intent.DENY in intents
    return is_correction and not _STILL_TRUE_BEFORE.search(folded)


def _period(fact: StatedFact, at: datetime) -> Period:
    """The period of the time; empty where there is none, or one that comes again and again.

    A state that began in a named month or year goes on: only PAST and events end with the time that is named.
    """
    if fact.time is None or Qualifier.RECURRING in fact.qualifiers:
        return Period()
    ahead = Qualifier.PLANNED in fact.qualifiers or fact.predicate in SCHEDULES
    period = resolve_time(fact.time.text, at, ahead=ahead) or Period()
    is_over = fact.predicate in EVENTS or Qualifier.PAST in fact.qualifiers
    if period.start is None or is_over or Qualifier.ENDED in fact.qualifiers or fact.predicate in SCHEDULES:
        return period
    return Period(period.start)


def _resolved(span: FactSpan, extraction: Extraction, text: str | None = None) -> str | None:
    """The name of a span, a pronoun of the message replaced by its antecedent; None for one without.

    With the message as `text`, a thing of somebody else's is named with whose it is.
    """
    for replacement in extraction.rewrite.replacements if extraction.rewrite and span.turn is None else ():
        if replacement.start <= span.start and span.end <= replacement.end and replacement.antecedents:
            return bare_name(replacement.antecedents[0].text)
    name = bare_name(span.text if text is None else _with_owner(span, text, extraction))
    return None if not name or _PRONOUN.match(fold_lower(name)) else name
