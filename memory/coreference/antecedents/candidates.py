"""Antecedent candidates of a reference, from the conversation and from long-term memory."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from ...language.han_tokens import cut
from ...language.han_words import SURNAMES
from ...values.mentions import EntitySubtype, Mention
from ...values.resolutions import ReferenceSource
from ...values.text import fold_lower, has_han, is_han, normalise
from ..detect.chinese import head_noun
from ..detect.lexicon import GIVEN_NAMES, NOUNS, TITLES
from ..detect.references import Gender, Number, Reference

_NOT_PERSON = frozenset(EntitySubtype) - {EntitySubtype.PERSON}
_BETWEEN = re.compile(
    r"\s*(?:,|，|、|,?\s*and|or|as well as|along with|和|与|跟|同|及|以及|还有|还是|或|或者|&|vs\.?|versus)"
    r"\s*(?:the\s+|an?\s+)?",
    re.IGNORECASE,
)
_DETERMINER = re.compile(r"(?:an?|another|one|this|that|some|these|those|new)\s+", re.IGNORECASE)
_MEASURE = "[些个台部家本位款种只条间辆首张件项套座所名支篇场架把份]"
_CHINESE_DETERMINER = re.compile(rf"(?:[这那][一几]?|[一几](?={_MEASURE})){_MEASURE}?")
PERSON_SURE = 0.7  # titles of books look like names of persons
TYPE_SURE = 0.6  # a mention below this names something, but its type proves nothing
GUESSED = "tagger."  # prefix of the sources whose mention types a model has guessed
_FAMILIAR = "老小阿"  # before a surname or a part of a given name: 老周, 小美, 阿強
_CALLED = 2
_LONGEST_NAME = 8  # characters of a Han name that has short forms
_OWNERS = {"my": "your", "your": "my"}
# "I need a restaurant": nothing specific; what the answer names is the likelier antecedent.
INDEFINITE = re.compile(r"(?:an?|some|another)\s", re.IGNORECASE)
WISHED = re.compile(
    r"\b(?:want|wanting|need|find|looking for|look for|like|search for|searching for|is there|are there|how about|"
    r"what about)(?: to \w+)? $"
)
# "Golden Wok is a restaurant", AI-Box 是一套平台: a predicate noun introduces no new candidate.
PREDICATED = re.compile(
    r"(?:\b(?:is|was|are|were|be|as|called)|'s)(?: not| also| still| actually| the only)? $|(?:是|属于|"
    r"作为)(?:一[个台部家本位款种只条间辆首张件项套座所名]|一)?[^，,。！？!?；;是]{0,8}$"
)
_IS_A = re.compile(
    r"(?:,? (?:is|was)(?: also| the only)? (?:an?|the)|,? as (?:an?|the|my|our)|, (?:my|our)) "
    r"(?P<what>(?:[a-z-]+ ){0,4}[a-z-]+)"
)
_IS_A_CHINESE = re.compile(
    r"\s*是(?:一[个台部家本位款种只间首套座所名])?(?P<what>[^，,。！？!?；;的了吗呢]{1,12})(?=[，,。！？!?；;了]|$)"
)
NAMED_BY = re.compile(
    r"\s*(?:就?是|[，,]?\s*(?:名字)?叫做?|名叫|：|:|is|was|called|named)\s*"
)  # 供應商是宏康: one thing, not two
TITLE_BEFORE = re.compile(r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof)\.? $")
DATE = re.compile(r"\d{4}\s*年(?:\s*\d{1,2}\s*月)?(?:\s*\d{1,2}\s*日)?|\bin \d{4}\b")
_SUBJECT_AFTER = re.compile(
    r"\s*(?:(?:is|was|has|does|did|can|will|looks|works|costs|likes|loves|wants|needs|says|said|told|thinks|lives|"
    r"bought|wrote|made|knows|went|came|\w{2,}ed)\b|是|有|在|会|能|很|真|太|怎么|好|坏|被)"
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible antecedent.

    Attributes:
        text: As it is written into the query.
        key: Normalised form; candidates of the same key are the same thing.
        source: Where it was found.
        order: Position in the conversation, larger is later; long-term entities are negative.
        distance: Turns back from the query; 0 is the query itself.
        entity_id: Id in long-term memory, if any.
        subtype: Type, where known.
        person: Whether it is a person; None where unknown.
        gender: Shown by a title or a noun.
        number: Singular, or plural for a group and for English plurals.
        members: The members of a coordination, in order; empty for a single thing.
        user: Whether the user (not the assistant) mentioned it.
        subject: Whether it is the subject or the topic of its sentence.
        named: Whether it is a name rather than a description.
        frequency: Number of mentions.
        time: Whether it is a date.
        end: End offset of its mention.
        moments: Times of its mentions in long-term memory.
        said: Folded texts of those mentions.
        proved: Whether its type is more than a model's guess from the context.
        located: Whether its latest mention gives the place or time of something else: Hamburg in "parked in Hamburg".
        standing: How well it is established as an antecedent, 0–1: 1 for names and introduced things, less for a bare
            noun and for a name that only jieba guesses.
    """

    text: str
    key: str
    source: ReferenceSource
    order: int = 0
    distance: int = 0
    entity_id: str | None = None
    subtype: EntitySubtype | None = None
    person: bool | None = None
    gender: Gender | None = None
    number: Number = Number.SINGULAR
    members: tuple["Candidate", ...] = ()
    user: bool = True
    subject: bool = False
    named: bool = True
    frequency: int = 1
    time: bool = False
    end: int = 0
    standing: float = 1.0
    located: bool = False
    proved: bool = True
    moments: tuple[datetime, ...] = ()
    said: tuple[str, ...] = ()

    @property
    def is_site(self) -> int:
        """How surely it is a place to visit rather than a company: 0 no, 1 by a model's guess, 2 certainly."""
        folded = fold_lower(self.text)
        head = head_noun(folded) if has_han(folded) else None
        noun = head[1] if head else NOUNS.get(folded.split()[-1]) if folded.split() else None
        if noun and EntitySubtype.PLACE in noun.subtypes:
            return 2
        return (2 if self.proved else 1) if self.subtype is EntitySubtype.PLACE else 0


def shown_gender(text: str, before: str) -> Gender | None:
    """The gender that a title or a kinship noun shows: 張小姐, "Mr. Smith", my sister."""
    folded = fold_lower(text)
    known = head_noun(folded) if has_han(folded) else None
    if known and known[1].gender:
        return known[1].gender
    for title, gender in TITLES.items():
        if has_han(title) and folded.endswith(title):
            return gender
        if re.match(rf"{title}\b", folded) or re.search(rf"\b{title}\.? $", fold_lower(before)):
            return gender
    words = folded.split()
    if words and text[0].isupper() and words[0] in GIVEN_NAMES:
        return GIVEN_NAMES[words[0]]
    last = NOUNS.get(words[-1]) if words else None
    return last.gender if last else None


def _from_user_view(text: str, *, by_user: bool) -> str:
    """A phrase from the user's view: the assistant's "your phone" is the user's "my phone"."""
    if by_user:
        return text
    owner, _, rest = text.partition(" ")
    return f"{_OWNERS.get(owner.lower(), owner)} {rest}"


def described(text: str, *, by_user: bool) -> str:
    """A description in the form of a second mention: a red car → the red car, 那台洗衣機 → 洗衣機."""
    if has_han(text):
        folded = fold_lower(text)
        match = _CHINESE_DETERMINER.match(folded)
        return text[match.end() :] if match and match.end() < len(text) else text
    if match := _DETERMINER.match(text):
        return f"the {text[match.end() :]}"
    text = text[0].lower() + text[1:] if re.match(r"(?:The|My|Your|Our)\b", text) else text
    return _from_user_view(text, by_user=by_user)


Span = tuple[int, int, Candidate]
"""Start and end of a mention, and its candidate."""


def is_plain_name(text: str, span: Span) -> bool:
    """Whether a topic takes precedence over the extractor's mentions in it: all Han, and not a compound phrase."""
    written = text[span[0] : span[1]]
    return all(is_han(character) for character in written) and not re.search(r"[的和与跟或]", fold_lower(written))


def is_short_form(short: Candidate, full: Candidate) -> bool:
    """Whether the first name is a short form of the second."""
    if len(short.key) >= len(full.key) or len(short.key) < 2:
        return False
    if has_han(short.key):
        return len(full.key) <= _LONGEST_NAME and full.key.startswith(short.key) | full.key.endswith(short.key)
    return full.subtype is EntitySubtype.PERSON and short.key in (full.key.split()[0], full.key.split()[-1])


def is_person(subtype: EntitySubtype | None) -> bool | None:
    """Whether a type is that of a person; None where the type is unknown."""
    return None if subtype is None else subtype is EntitySubtype.PERSON


def stated_type(text: str, end: int) -> EntitySubtype | None:
    """The type that a text states of a name: "Golden Wok is a cheap restaurant", 台積電是一家半導體公司.

    Args:
        text: The text that mentions the name.
        end: End offset of the mention.
    """
    folded = fold_lower(text)
    if match := _IS_A.match(folded, end):
        nouns = [word for word in match["what"].split() if word in NOUNS]
        known = NOUNS[nouns[-1]] if nouns else None
    elif match := _IS_A_CHINESE.match(folded, end):
        known = (head_noun(match["what"]) or ("", None))[1]
    else:
        return None
    return min(known.subtypes, key=list(EntitySubtype).index) if known else None


def is_subject(text: str, start: int, end: int) -> bool:
    """Whether a span starts its sentence or stands right before a verb, as a subject does."""
    before = text[:start].rstrip()
    return not before or before[-1] in "。！？!?.;；\n" or bool(_SUBJECT_AFTER.match(fold_lower(text), end))


def is_proved(mention: Mention, *, told: bool) -> bool:
    """Whether the type of a mention is supported by its form or by the text, not only by a model's guess.

    Args:
        mention: As a model tagged it.
        told: Whether the text or long-term memory states the type.
    """
    folded = fold_lower(mention.text)
    if told:
        return True
    if mention.subtype is EntitySubtype.PERSON:
        if has_han(folded):
            called = folded[0] in _FAMILIAR and len(folded) == _CALLED
            return called or mention.text[0] in SURNAMES or folded[0] in SURNAMES
        return any(word in GIVEN_NAMES or word.rstrip(".") in TITLES for word in folded.split())
    if mention.subtype is EntitySubtype.PLACE:
        return {word.tag for word in cut(folded) if word.listed} == {"ns"} or not has_han(folded)
    return False


def _coordinated(text: str, found: Sequence[Span]) -> list[list[Span]]:
    """The spans grouped by coordination (X和Y, "X, Y and Z"); persons and things are never joined."""
    runs: list[list[Span]] = []
    for item in found:
        last = runs[-1][-1] if runs else None
        if last and _BETWEEN.fullmatch(text[last[1] : item[0]]) and _alike(last[2], item[2]):
            runs[-1].append(item)
        else:
            runs.append([item])
    return [part for run in runs for part in (([span] for span in run) if _only_listed(text, run) else [run])]


def _only_listed(text: str, run: Sequence[Span]) -> bool:
    """Whether only commas separate the spans: those of 台積電在新竹，鴻海在土城 separate clauses."""
    between = [text[left[1] : other[0]].strip() for left, other in pairwise(run)]
    return bool(between) and all(gap in (",", "，") for gap in between)


def share_features(text: str, found: Sequence[Span]) -> list[Span]:
    """The spans; the members of a coordination share subject, standing and, where only one is known, the type."""
    shared = []
    for run in _coordinated(text, found):
        subject = any(candidate.subject for _, _, candidate in run)
        standing = max(candidate.standing for _, _, candidate in run)
        types = {(candidate.subtype, candidate.person) for _, _, candidate in run if candidate.subtype}
        subtype, person = types.pop() if len(types) == 1 else (None, None)
        for start, end, candidate in run:
            alike = replace(candidate, subject=subject, standing=standing)
            typed = (
                alike
                if candidate.subtype or candidate.person is not None
                else replace(alike, subtype=subtype, person=person)
            )
            shared.append((start, end, typed))
    return shared


def groups(text: str, found: Sequence[Span]) -> list[Candidate]:
    """The coordinations of a text, each as one plural candidate."""
    return [
        Candidate(
            _joined(text, group),
            "\x1f".join(member.key for _, _, member in group),
            ReferenceSource.SESSION,
            subtype=group[0][2].subtype,
            person=group[0][2].person,
            gender=group[0][2].gender,
            number=Number.PLURAL,
            members=tuple(member for _, _, member in group),
            user=group[0][2].user,
            subject=group[0][2].subject,
            end=group[-1][1],
        )
        for group in _coordinated(text, found)
        if len(group) > 1
    ]


def _joined(text: str, group: Sequence[Span]) -> str:
    """The text of a coordination: as written for names, joined from the candidates' texts for descriptions."""
    if all(member.named for _, _, member in group):
        return text[group[0][0] : group[-1][1]]
    return join([member.text for _, _, member in group])


def _alike(first: Candidate, other: Candidate) -> bool:
    return first.person is None or other.person is None or first.person == other.person


def join(texts: Sequence[str]) -> str:
    """Coordinates texts in their own language: "X, Y and Z", X、Y和Z."""
    if any(has_han(text) for text in texts):
        return "、".join(texts[:-1]) + "和" + texts[-1]
    return ", ".join(texts[:-1]) + " and " + texts[-1]


def adds_nothing(reference: Reference, candidate: Candidate) -> bool:
    """Whether substituting the candidate would add no information: 這個系統 → 系統."""
    return bool(reference.noun) and normalise(candidate.text) in {normalise(reference.noun), f"the {reference.noun}"}
