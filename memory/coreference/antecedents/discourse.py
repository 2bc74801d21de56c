"""The antecedent candidates that a conversation has mentioned so far."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...values.entities import Entity
from ...values.mentions import EntitySubtype, Mention, MentionLevel
from ...values.resolutions import Occasion, ReferenceSource
from ...values.text import fold_lower, has_han, normalise
from ..detect.chinese import head_noun
from ..detect.phrases import Phrase, noun_phrases
from .candidates import (
    DATE,
    GUESSED,
    INDEFINITE,
    PERSON_SURE,
    PREDICATED,
    TITLE_BEFORE,
    TYPE_SURE,
    WISHED,
    Candidate,
    Span,
    described,
    groups,
    is_person,
    is_plain_name,
    is_proved,
    is_short_form,
    is_subject,
    share_features,
    shown_gender,
    stated_type,
)
from .coordination import Coordination, CoordinationTracker
from .introduction import counted_type, drop_identified, is_generic_person, is_location, located, standing

_REMEMBERED = 300  # latest mentions kept: bounds the work that a very long turn can cause
_WINDOW = 60  # characters of context read before a phrase
_AGAIN = 0.1  # standing that a further mention adds
_CORRECTED = 0.12  # added to the score of the corrected antecedent, subtracted from that of the rejected one
_PAIR = 2
_EDGES = " .。!！~～\n"
_ACTING = "把"  # follows an agent, which supports a model's guess that the name is a person
_ASKS_WHAT = re.compile(r"(?:是|做|叫|干)(?:谁|什么|啥)|\b(?:who|what)(?:'s| is| are)\b")


def _date(match: re.Match[str], *, user: bool) -> Span:
    """The span of a year or date, which only 那時候 and "back then" can mean."""
    date = match[0].removeprefix("in ")
    candidate = Candidate(
        date, normalise(date), ReferenceSource.SESSION, person=False, user=user, named=False, time=True
    )
    return match.start(), match.end(), candidate


class Discourse:
    """The candidates mentioned so far, in order; `read` adds those of a text."""

    def __init__(self, long_term: Sequence[Entity], occasions: Sequence[Occasion] = ()) -> None:
        spoken: dict[str, list[Occasion]] = {}
        for occasion in occasions:
            spoken.setdefault(occasion.entity_id, []).append(occasion)
        self._entities = {
            normalise(name): entity
            for entity in reversed(long_term)
            if entity.is_current
            for name in (*entity.aliases, entity.entity_value)
        }
        self._mentioned: list[Candidate] = []
        self._order = 0
        self._asked = False
        self._lifts: dict[str, dict[str, float]] = {}
        self._coordinations = CoordinationTracker()
        self._referred: str | None = None
        self.contrasted: tuple[Candidate, ...] = ()
        """The two subjects of one text's clauses: 台積電在新竹，鴻海在土城."""
        self.moved_on = False
        """Whether the user has named another thing since their last reference."""
        self.long_term = tuple(
            Candidate(
                entity.entity_value,
                normalise(entity.entity_value),
                ReferenceSource.LONG_TERM,
                -1 - rank,
                rank,
                entity.entity_id,
                entity.subtype,
                is_person(entity.subtype),
                shown_gender(entity.entity_value, ""),
                frequency=max(1, entity.mention_count),
                moments=(
                    entity.first_mentioned,
                    entity.last_mentioned,
                    *(occasion.at for occasion in spoken.get(entity.entity_id, ())),
                ),
                said=tuple(fold_lower(occasion.text) for occasion in spoken.get(entity.entity_id, ())),
            )
            for rank, entity in enumerate(entity for entity in long_term if entity.is_current)
        )

    def read(
        self, text: str, mentions: Sequence[Mention], *, user: bool, start: int = 0, end: int | None = None
    ) -> None:
        """Adds the mentions of `text[start:end]`, in text order, and their coordinations."""
        stop = len(text) if end is None else end
        spans = [
            self._named_span(text, mention, user=user)
            for mention in mentions
            if mention.level is MentionLevel.LONG_TERM and start <= mention.start and mention.end <= stop
        ]
        spans += self._known_names(text, start, stop, user=user)
        descriptions = [_date(match, user=user) for match in DATE.finditer(text, start, stop)]
        for phrase in noun_phrases(text):
            if phrase.start < start or stop < phrase.end:
                continue
            before = fold_lower(text[max(0, phrase.start - _WINDOW) : phrase.start])
            if is_generic_person(fold_lower(text[phrase.start : phrase.end]), before):
                continue
            if not user and self._asked and text.strip(_EDGES) == text[phrase.start : phrase.end] and not phrase.named:
                continue  # the answer to "who is Tom?" describes Tom and introduces no new candidate
            if PREDICATED.search(before) and not phrase.topic:
                continue
            span = self._phrase_span(text, phrase, user=user)
            (spans if phrase.topic and is_plain_name(text, span) else descriptions).append(span)
        barred = [(mention.start, mention.end) for mention in mentions if mention.level is not MentionLevel.LONG_TERM]
        spans.sort(key=lambda span: (span[2].entity_id is None, span[0] - span[1]))
        found: list[Span] = []
        for span in (*spans, *descriptions):
            if all(span[1] <= first or last <= span[0] for first, last in barred):
                found.append(span)
                barred.append(span[:2])
        found.sort(key=lambda span: span[0])
        found = [(first, last, replace(candidate, end=last)) for first, last, candidate in found]
        found = share_features(text, drop_identified(text, found))
        for _, _, candidate in found:
            self._add(candidate)
        self._asked = user and bool(_ASKS_WHAT.search(fold_lower(text)))
        coordinated = groups(text, found)
        for group in coordinated:
            self._add(group)
        self._coordinations.read(found, coordinated, user=user)
        subjects = tuple(
            {candidate.key: candidate for _, _, candidate in found if candidate.subject and candidate.named}.values()
        )
        if coordinated or len(subjects) > 1:
            self.contrasted = subjects if len(subjects) == _PAIR and not coordinated else ()
        if user and self._referred is not None:
            self.moved_on |= any(candidate.named and candidate.key != self._referred for _, _, candidate in found)

    def refer(self, candidate: Candidate, *, user: bool, end: int) -> None:
        """Records a reference to a candidate, so that later references can mean it too."""
        self._add(
            replace(
                candidate, source=ReferenceSource.SESSION, user=user, subject=True, located=False, distance=0, end=end
            )
        )
        self._coordinations.single_out(candidate.key)
        if user:
            self._referred, self.moved_on = candidate.key, False

    def correct(self, reference: str, *, meant: str, wrong: str | None) -> None:
        """Records the user's correction of a reference; `meant` and `wrong` are candidates' keys."""
        lifts = self._lifts.setdefault(fold_lower(reference), {})
        lifts[meant] = _CORRECTED
        if wrong and wrong != meant:
            lifts[wrong] = -_CORRECTED

    @property
    def coordinations(self) -> tuple[Coordination, ...]:
        """See `CoordinationTracker.current`."""
        return self._coordinations.current

    def lifts(self, reference: str) -> Mapping[str, float]:
        """Score adjustments from earlier corrections of the same expression, by candidate's key."""
        return self._lifts.get(fold_lower(reference), {})

    def next_turn(self) -> None:
        """Ends a turn: the distance of every candidate grows by one."""
        self._mentioned = [replace(candidate, distance=candidate.distance + 1) for candidate in self._mentioned]
        self.contrasted = tuple(replace(candidate, distance=candidate.distance + 1) for candidate in self.contrasted)

    def session(self) -> tuple[Candidate, ...]:
        """One candidate for each thing, latest mention first, with the attributes of all its mentions merged."""
        merged: dict[str, Candidate] = {}
        for candidate in self._mentioned:
            known = merged.pop(candidate.key, None)
            if known:
                candidate = replace(
                    candidate,
                    frequency=known.frequency + 1,
                    standing=min(1.0, max(known.standing, candidate.standing) + _AGAIN),
                    user=known.user or candidate.user,
                    subject=known.subject or candidate.subject,
                    subtype=candidate.subtype or known.subtype,
                    person=known.person if candidate.person is None else candidate.person,
                    gender=candidate.gender or known.gender,
                    proved=(candidate if candidate.subtype else known).proved,
                )
            merged[candidate.key] = candidate
        return tuple(reversed(merged.values()))

    def _add(self, candidate: Candidate) -> None:
        self._order += 1
        candidate = self._expand_short_form(candidate)
        self._mentioned = [*self._mentioned[-_REMEMBERED:], replace(candidate, order=self._order)]

    def _expand_short_form(self, candidate: Candidate) -> Candidate:
        """The full name that a short form stands for: 東野圭吾 for 東野, "Mary Cole" for "Mary"."""
        for known in self._mentioned if candidate.named and candidate.entity_id is None else ():
            if known.named and not known.members and is_short_form(candidate, known):
                return replace(
                    known,
                    order=candidate.order,
                    distance=0,
                    user=candidate.user,
                    subject=candidate.subject,
                    located=candidate.located,
                    end=candidate.end,
                )
        return candidate

    def _known_names(self, text: str, first: int, last: int, *, user: bool) -> "list[Span]":
        """Further occurrences of the names mentioned before, whether or not the extractor finds them."""
        folded = fold_lower(text)
        names = {
            fold_lower(known.text): known
            for known in self._mentioned
            if known.named and not known.members and len(known.text) > 1
        }
        spans: list[Span] = []
        for name, known in names.items():
            edge = r"\b" if name.isascii() else ""
            for match in re.compile(edge + re.escape(name) + edge).finditer(folded, first, last):
                start, end = match.span()
                subject = is_subject(text, start, end)
                stated_subtype = stated_type(text, end)
                with_stated_type = (
                    replace(known, subtype=stated_subtype, person=is_person(stated_subtype))
                    if stated_subtype
                    else known
                )
                where = is_location(folded[max(0, start - _WINDOW) : start])
                again = replace(with_stated_type, distance=0, user=user, subject=subject, located=where, frequency=1)
                spans.append((start, end, again))
        return spans

    def _named_span(self, text: str, mention: Mention, *, user: bool) -> tuple[int, int, Candidate]:
        entity = self._entities.get(normalise(mention.text))
        needed = PERSON_SURE if mention.subtype is EntitySubtype.PERSON else TYPE_SURE
        gender = shown_gender(mention.text, text[max(0, mention.start - 8) : mention.start])
        shown = head_noun(fold_lower(mention.text)) if has_han(mention.text) else None
        titled = bool(shown and len(shown[0]) > 1 and shown[1].subtypes == {EntitySubtype.PERSON})  # 李老師
        sure = mention.subtype if gender or titled or mention.confidence >= needed else None
        subtype = (entity.subtype if entity else None) or stated_type(text, mention.end) or sure
        before = fold_lower(text[max(0, mention.start - _WINDOW) : mention.start])
        title = TITLE_BEFORE.search(text, max(0, mention.start - _WINDOW), mention.start)
        name = text[title.start() if title else mention.start : mention.end]
        candidate = Candidate(
            name,
            normalise(entity.entity_value if entity else name),
            ReferenceSource.SESSION,
            entity_id=entity.entity_id if entity else mention.entity_id,
            subtype=subtype,
            person=is_person(subtype),
            gender=gender,
            user=user,
            subject=is_subject(text, mention.start, mention.end),
            standing=1.0 if is_person(subtype) else located(before),
            located=is_location(before),
            proved=not mention.source.startswith(GUESSED)
            or is_proved(mention, told=subtype is not sure or text.startswith(_ACTING, mention.end)),
        )
        return mention.start, mention.end, candidate

    def _phrase_span(self, text: str, phrase: Phrase, *, user: bool) -> tuple[int, int, Candidate]:
        written = text[phrase.start : phrase.end]
        shown = described(written, by_user=user)
        before = fold_lower(text[max(0, phrase.start - _WINDOW) : phrase.start])
        wished = bool(WISHED.search(before) and INDEFINITE.match(written))
        entity = self._entities.get(normalise(shown))
        counted = None if phrase.subtype else counted_type(before)
        candidate = Candidate(
            shown,
            normalise(shown),
            ReferenceSource.SESSION,
            entity_id=entity.entity_id if entity else None,
            subtype=phrase.subtype or counted,
            person=is_person(counted) if phrase.person is None else phrase.person,
            gender=shown_gender(written, ""),
            number=phrase.number,
            user=user and not wished,
            subject=not wished and (phrase.topic or is_subject(text, phrase.start, phrase.end)),
            named=phrase.named or phrase.topic,
            located=is_location(before),
        )
        if not phrase.topic and entity is None and has_han(written):
            candidate = replace(candidate, standing=standing(phrase, before, subject=candidate.subject))
        return phrase.start, phrase.end, candidate
