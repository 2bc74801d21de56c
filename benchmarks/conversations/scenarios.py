"""Reads scenario files: sessions of a user over weeks, and the questions that memory must answer.

    @ moved zh-Hant                  a scenario, its language
    ## 2026-03-02 09:10              a session
    U: 我住板橋。                     U lines are numbered from 1 through the scenario
    A: 了解。
    ## 2026-03-20 21:30              a session without lines: when the questions after it are asked
    ? 我住哪裡？ => 三峽 | not: 板橋 | ev: 2 | type: update

What must be answered is one of: values, where ` & ` joins parts that must all be there and ` / ` the alternatives of a
part; `NONE`; `DOUBT`, where nothing has confirmed the values of `not:` since what they hung on changed, or `STALE:
values`, the same with the values behind it; `ASK`, where the reply must ask back, or `ASK: option / option`, and must
name these; `REPLY`, where memory is not asked: the reply must quote nothing that the user said and be of the kind that
the type names, or, with `REPLY: values`, say these. `not:` must not be said as true now, and after forgetting not at
all. `ground:` is for readers.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from memory.values.understanding.dialogue import Role

_KEYS = frozenset({"not", "ev", "type", "ground"})
_ROLES = {"U:": Role.USER, "A:": Role.ASSISTANT}


class Kind(StrEnum):
    """What a question tries."""

    SINGLE = "single"
    UPDATE = "update"
    CORRECTION = "correction"
    FORGET = "forget"
    FORGET_ASK = "forget_ask"
    ABSTAIN = "abstain"
    TEMPORAL = "temporal"
    AS_OF = "as_of"
    DEPENDENT = "dependent"
    MULTI_HOP = "multi_hop"
    AGGREGATE = "aggregate"
    PREFERENCE = "preference"
    REFERENCE = "reference"
    CROSS_LANGUAGE = "cross_language"
    SEVERAL = "several"
    GREETING = "greeting"
    FAREWELL = "farewell"
    THANKS = "thanks"
    ACKNOWLEDGEMENT = "acknowledgement"
    REQUEST = "request"
    OPINION = "opinion"
    GENERAL = "general"
    ASSISTANT = "assistant"
    PRESENT = "present"


NOT_FOR_MEMORY = frozenset(
    {
        Kind.GREETING,
        Kind.FAREWELL,
        Kind.THANKS,
        Kind.ACKNOWLEDGEMENT,
        Kind.REQUEST,
        Kind.OPINION,
        Kind.GENERAL,
        Kind.ASSISTANT,
        Kind.PRESENT,
    }
)
"""Messages that no memory answers, each with an honest reply of its own: what cannot be done, knowledge of the world,
what the assistant is, the present day or time.
"""


class Expected(StrEnum):
    """The form of a right reply."""

    VALUE = "value"
    NONE = "NONE"
    DOUBT = "DOUBT"
    ASK = "ASK"
    REPLY = "REPLY"


_FORMS = {
    "NONE": Expected.NONE,
    "DOUBT": Expected.DOUBT,
    "STALE": Expected.DOUBT,
    "ASK": Expected.ASK,
    "REPLY": Expected.REPLY,
}


class BadScenario(ValueError):
    """A line that is not of the format; the message names file and line."""


@dataclass(frozen=True, slots=True)
class Line:
    """What was said."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question and what must be answered.

    Attributes:
        text: As it is asked.
        kind: What it tries.
        expected: The form of a right reply.
        parts: The values that must all be there, each with its alternatives; the options of `Expected.ASK`, if given;
            with `Expected.REPLY` values that make a reply right of whatever kind it is.
        untrue: What must not be said; with `Expected.DOUBT` what may be said in doubt only.
        evidence: Numbers of the U lines from which it follows.
    """

    text: str
    kind: Kind
    expected: Expected
    parts: tuple[tuple[str, ...], ...] = ()
    untrue: tuple[str, ...] = ()
    evidence: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Session:
    """Lines that were said one after the other, and the questions asked after them."""

    at: datetime
    lines: tuple[Line, ...] = ()
    questions: tuple[Question, ...] = ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """The sessions of one user, oldest first."""

    id: str
    language: str
    sessions: tuple[Session, ...]

    @property
    def questions(self) -> tuple[Question, ...]:
        """All questions, in the order in which they are asked."""
        return tuple(question for session in self.sessions for question in session.questions)


def read_scenarios(path: Path) -> list[Scenario]:
    """Reads the scenarios of a file.

    Raises:
        BadScenario: A line is not of the format.
    """
    return parse_scenarios(path.read_text(encoding="utf-8"), name=path.name)


def parse_scenarios(text: str, *, name: str = "text") -> list[Scenario]:
    """Parses scenarios; `name` is that of the file, for errors.

    Raises:
        BadScenario: A line is not of the format.
    """
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    scenarios: list[Scenario] = []
    block: list[tuple[int, str]] = []
    for number, line in [*lines, (0, "@ end")]:
        if line in ("", "---"):
            continue
        try:
            if line.startswith("@ "):
                if block:
                    scenarios.append(_scenario(block))
                block = []
            elif not block:
                raise BadScenario("no @ line before it")
            block.append((number, line))
        except BadScenario as error:
            raise BadScenario(f"{name}: {error}") from None
    return scenarios


def _scenario(block: list[tuple[int, str]]) -> Scenario:
    [(_, head), *rest] = block
    id_, language = _fields(head, block[0][0])
    sessions: list[Session] = []
    said = 0
    for number, line in rest:
        try:
            if line.startswith("## "):
                sessions.append(Session(_time(line[3:])))
                continue
            if not sessions:
                raise BadScenario("no ## line before it")
            last = sessions[-1]
            if role := _ROLES.get(line[:2]):
                if last.questions:
                    raise BadScenario("a session goes on after its questions")
                said += role is Role.USER
                sessions[-1] = Session(last.at, (*last.lines, Line(role, line[2:].strip())))
            elif line.startswith("? "):
                sessions[-1] = Session(last.at, last.lines, (*last.questions, _question(line[2:], said)))
            else:
                raise BadScenario(f"not of the format: {line[:20]}")
        except BadScenario as error:
            raise BadScenario(f"line {number}: {error}") from None
    return Scenario(id_, language, tuple(sessions))


def _fields(head: str, number: int) -> tuple[str, str]:
    parts = head[2:].split()
    if len(parts) != 2:
        raise BadScenario(f"line {number}: a scenario has a name and a language")
    return parts[0], parts[1]


def _time(text: str) -> datetime:
    try:
        return datetime.strptime(text.strip(), "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
    except ValueError:
        raise BadScenario(f"not a date and a time: {text.strip()[:20]}") from None


def _question(line: str, said: int) -> Question:
    text, arrow, rest = line.partition("=>")
    answer, *marks = (part.strip() for part in rest.split("|"))
    if not arrow or not answer:
        raise BadScenario("a question without an answer")
    given = dict(_mark(mark) for mark in marks)
    if given.get("type") not in set(Kind):
        raise BadScenario(f"type {given.get('type')}")
    evidence = tuple(map(int, re.findall(r"\d+", given.get("ev", ""))))
    if any(not 0 < number <= said for number in evidence):
        raise BadScenario(f"evidence beyond the {said} U lines")
    expected, values = _expected(answer)
    if (expected is Expected.REPLY) != (given["type"] in NOT_FOR_MEMORY):
        raise BadScenario(f"{expected.name} of type {given['type']}")
    untrue = tuple(_split(given["not"], "/")) if "not" in given else ()
    parts = tuple(_parts(values))
    if expected is Expected.DOUBT:
        untrue, parts = (*(value for part in parts for value in part), *untrue), ()
        if not untrue:
            raise BadScenario("in doubt, but no value")
    return Question(text.strip(), Kind(given["type"]), expected, parts, untrue, evidence)


def _mark(mark: str) -> tuple[str, str]:
    key, colon, value = mark.partition(":")
    if key not in _KEYS or not colon:
        raise BadScenario(f"not known: {mark[:20]}")
    return key, value.strip()


def _expected(answer: str) -> tuple[Expected, str]:
    word, colon, values = answer.partition(":")
    if word in _FORMS and (not colon or word != Expected.NONE):
        return _FORMS[word], values.strip()
    return Expected.VALUE, answer


def _parts(values: str) -> Iterator[tuple[str, ...]]:
    for part in _split(values, "&") if values else ():
        yield tuple(_split(part, "/"))


def _split(text: str, separator: str) -> list[str]:
    """Splits at a separator between spaces: 4/21 is one value."""
    parts = [part.strip() for part in re.split(rf"(?:^|\s){separator}(?:\s|$)", text)]
    if not all(parts):
        raise BadScenario("an empty value")
    return parts
