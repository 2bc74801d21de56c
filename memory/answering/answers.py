"""What an answer is, and the role that gives one."""

from abc import ABC, abstractmethod
from enum import StrEnum

from ..values.base import Timestamp, Value
from ..values.dialogue import Turn
from ..values.hits import Hit
from ..values.mentions import Extraction
from ..values.resolutions import Clarification


class AnsweredBy(StrEnum):
    """How an answer came about."""

    EXTRACTIVE = "extractive"


class AnswerRequest(Value):
    """A message with its references resolved, what was found in it, and what memory found for it, best first.

    `turns` is the conversation before the message, oldest first; `clarification` is what to ask where a reference of
    the message is open. A message that revises an earlier one is that one, as it was meant.
    """

    message: str
    resolved: str
    clarification: Clarification | None = None
    extraction: Extraction = Extraction()
    hits: tuple[Hit, ...] = ()
    turns: tuple[Turn, ...] = ()
    now: Timestamp


class Answer(Value):
    """A reply and the hits that it rests on."""

    text: str
    answered_by: AnsweredBy
    sources: tuple[Hit, ...] = ()


class Answerer(ABC):
    """Answers a message from what memory found."""

    @abstractmethod
    async def answer(self, request: AnswerRequest) -> Answer:
        """Answers in the language of the message; claims nothing that no source says."""
