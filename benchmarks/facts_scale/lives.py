"""Messages of made-up lives, with what a reader would find in them: some state facts, some of these change."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory.values.ids import entity_id
from memory.values.records import Resource
from memory.values.understanding.extractions import Extraction
from memory.values.understanding.mentions import EntitySubtype, Mention
from memory.values.understanding.readings import FactSpan, Intent, Qualifier, StatedFact

VERSION = "given"
"""The version of an extractor whose understanding is stored with every message."""
BEGIN_DAYS = 400
"""Days before the end when the first message was said, so that the weekly job finds something old."""
MESSAGES_A_SESSION = 20
_SHARE_OF_FACTS = 0.5
_SHARE_OF_OTHERS = 0.4
_HOLDS_FOR = 3_000
"""Messages until a home, an employer or a phone number changes."""
_TAIL = 0.7
"""Exponent of how often a value is spoken of: a user's 5,000 likes are of some 300 things."""
_CHAT = (
    "今天天氣真好，中午去公園走了一圈。",
    "The train was late again and I missed the first half of the meeting.",
    "昨天睡得不太好，今天要早點休息。",
    "That film was longer than I expected, but the ending was worth it.",
    "你覺得這樣寫比較清楚，還是剛才那樣？",
)
_STATES = (
    ("lives_in", "{}現在住在{}。", "區"),
    ("works_at", "{} works at {} now.", " Ltd"),
    ("phone", "{}的電話是 {}。", "-0912"),
    ("occupation", "{} works as a {}.", " maker"),
)
"""Predicates of one value, with the message and the end of the value."""
_THINGS = (
    ("likes", "{}喜歡{}。", "茶"),
    ("owns", "{} bought a {} last week.", " lamp"),
    ("visited", "{}上個月去了{}。", "島"),
    ("plans", "{} wants to learn {}.", " craft"),
    ("speaks", "{}會說{}。", "語"),
    ("uses", "{} uses {} at work.", "-kit"),
    ("friend", "{} 的朋友 {} 來過。", " Lin"),
    ("eats", "{}早餐吃{}。", "餅"),
)
"""Predicates of many values."""
_HAN = "天地玄黃宇宙洪荒日月盈昃辰宿列張寒來暑往秋收冬藏"


@dataclass(frozen=True)
class Life:
    """The messages of one user.

    Args:
        user_id: The user.
        messages: How many there are in all; the first ones are the same whatever this is.
        until: When the last one was said.
    """

    user_id: str
    messages: int
    until: datetime

    def resources(self, begin: int, end: int) -> Iterator[Resource]:
        """The messages from one number to another, with what was found in them.

        Half state a fact, four in ten of these of somebody else. A third of the facts are one-valued, which change now
        and then; the others repeat what was said before more often than they bring something new.
        """
        for number in range(begin, end):
            chooser = random.Random(f"{self.user_id}/{number}")
            content, extraction = self._said(chooser, number)
            yield Resource(
                resource_id=f"{self.user_id}-{number}",
                user_id=self.user_id,
                session_id=f"session-{number // MESSAGES_A_SESSION}",
                content=content,
                understanding=extraction,
                created_at=self.said_at(number),
            )

    def said_at(self, number: int) -> datetime:
        """When a message was said."""
        return self.until - timedelta(days=BEGIN_DAYS * (1 - number / self.messages))

    def _said(self, chooser: random.Random, number: int) -> tuple[str, Extraction]:
        if chooser.random() >= _SHARE_OF_FACTS:
            return chooser.choice(_CHAT), Extraction(intents=(Intent.CHITCHAT,), version=VERSION)
        who = _name(_often_small(chooser)) + " Wu" if chooser.random() < _SHARE_OF_OTHERS else ""
        is_state = chooser.random() < 1 / 3
        predicate, pattern, end = chooser.choice(_STATES if is_state else _THINGS)
        value = _name(number // _HOLDS_FOR if is_state else _often_small(chooser)) + end
        content = pattern.format(who or "我", value)
        found = [_span(content, name) for name in (who, value) if name]
        fact = StatedFact(
            subject=found[0] if who else None,
            predicate=predicate,
            object=found[-1],
            qualifiers=(Qualifier.PLANNED,) if predicate == "plans" else (),
            confidence=0.5 + chooser.random() / 2,
        )
        people = [found[0]] if who else []
        people += [found[-1]] if predicate == "friend" else []
        mentions = tuple(
            Mention(
                text=span.text,
                start=span.start,
                end=span.end,
                subtype=EntitySubtype.PERSON,
                confidence=0.9,
                entity_id=entity_id(self.user_id, span.text),
            )
            for span in people
        )
        return content, Extraction(mentions=mentions, intents=(Intent.STATEMENT,), facts=(fact,), version=VERSION)


def queries(count: int) -> list[str]:
    """Questions about what was stated."""
    chooser = random.Random(5)
    asked = (
        "我現在住在哪裡？",
        "where does {} Wu work?",
        "我喜歡什麼茶？",
        "which friend came over?",
        "去過{}島嗎？",
        "do I own a {} lamp?",
    )
    return [chooser.choice(asked).format(_name(chooser.randrange(64))) for _ in range(count)]


def _name(number: int) -> str:
    name = ""
    while number or not name:
        number, place = divmod(number, len(_HAN))
        name += _HAN[place]
    return name


def _often_small(chooser: random.Random) -> int:
    return int(min(chooser.paretovariate(_TAIL), 1e9))


def _span(content: str, name: str) -> FactSpan:
    start = content.rindex(name)
    return FactSpan(text=name, start=start, end=start + len(name))
