"""What a system under test is: it hears the sessions of a user and answers the questions."""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from typing_extensions import override

from memory.values.understanding.dialogue import Role

from .judge import Reply
from .scenarios import Line, Question, Scenario

AT_ONCE = 10
"""Lines that a search brings."""
NOTHING = Reply("I have nothing about that.")
_QUOTATION_MARKS = str.maketrans("", "", '「」『』“”"')


@dataclass(frozen=True, slots=True)
class Found:
    """A line that a search found, with its score, the higher the better, and its date as YYYY-MM-DD."""

    text: str
    score: float
    date: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a prompt would be told: memories, and names of entities that were mentioned before."""

    memories: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """A reply to a question.

    Attributes:
        found: The best lines that the system's search finds for the question, at most `AT_ONCE`.
        took_s: Seconds until the reply was there.
        prompt: That for what memory does not answer; None for other questions, and of systems that write no prompts.
    """

    reply: Reply
    found: tuple[Found, ...]
    took_s: float
    prompt: Prompt | None = None


class System(ABC):
    """Something that remembers what users say."""

    @abstractmethod
    def play(self, scenario: Scenario) -> Iterator[tuple[Question, Answered]]:
        """Hears the sessions of a new user, and answers the questions asked between and after them, in their order."""


class LineSearch(ABC):
    """A search over the lines of one user."""

    @abstractmethod
    def add(self, line: str, at: datetime, *, user_id: str) -> None:
        """Adds a line said at a time."""

    @abstractmethod
    def search(self, question: str, *, user_id: str) -> list[Found]:
        """The best lines, best first, at most `AT_ONCE`."""


class BestLine(System):
    """A search as a system: it quotes the best line that the user said, or says that it has nothing.

    Args:
        lines: The search.
        least_scores: By language of the scenario: a best line with a lower score is no answer. In a language that is
            not there every best line is one.
    """

    def __init__(self, lines: LineSearch, *, least_scores: Mapping[str, float]) -> None:
        self._lines = lines
        self._least_scores = least_scores

    @override
    def play(self, scenario: Scenario) -> Iterator[tuple[Question, Answered]]:
        least_score = self._least_scores.get(scenario.language, float("-inf"))
        for session in scenario.sessions:
            for line in user_lines(session.lines):
                self._lines.add(line, session.at, user_id=scenario.id)
            for question in session.questions:
                begin = time.perf_counter()
                found = self._lines.search(question.text, user_id=scenario.id)
                took_s = time.perf_counter() - begin
                yield question, Answered(_reply(found, least_score), tuple(found), took_s)


def user_lines(lines: Sequence[Line]) -> list[str]:
    """What the user said."""
    return [line.text for line in lines if line.role is Role.USER]


def _reply(found: Sequence[Found], least_score: float) -> Reply:
    if not found:
        return replace(NOTHING, confidence=0.0)
    best = found[0]
    if best.score < least_score:
        return replace(NOTHING, confidence=best.score)
    return Reply(f"「{best.text.translate(_QUOTATION_MARKS)}」", confidence=best.score)
