"""The role that chooses which memories answer a question, in which words, and says when none does."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from pydantic import Field

from ...values.base import Timestamp, Value
from ...values.evidence import MAX_ANSWER_LINES as MAX_ANSWER_LINES
from ...values.understanding.dialogue import Role
from .language import Priority


class DatedLine(Value):
    """What was said, when and by whom."""

    text: str
    said_at: Timestamp
    role: Role = Role.USER


class AnswerReadRequest(Value):
    """A question with its references resolved, and the lines among which its answer may stand, in any order.

    Attributes:
        question: The question.
        lines: What was said in conversation; or excerpts of documents, never both.
        now: When it is asked.
        of_documents: Whether the lines are excerpts of documents.
    """

    question: str
    lines: tuple[DatedLine, ...] = Field(max_length=MAX_ANSWER_LINES)
    now: Timestamp
    of_documents: bool = False


class LineReading(Value):
    """What one line is to the question.

    Attributes:
        answers: The probability that the line is (part of) the answer, 0 to 1.
        outdated: The probability that what it answers held once and another line replaced it, 0 to 1.
        start: Where the words that answer begin, in code points of the line's text.
        end: Where they end; equal to `start` where the line answers without words of its own (its date alone).
        words: The probability that these are the words, if the line answers, 0 to 1.
        meant: The share of the probability that the question, as a request to forget, means this line: over all lines
            and none the sum is 1.
        replaced: The same, that after the question, as a message, what this line says holds no longer.
        clause: The probability that the question, as a request to forget, means this line, where the lines are the
            clauses of one message which is meant, 0 to 1; 1 where it cannot be told.
    """

    answers: float
    outdated: float
    start: int
    end: int
    words: float = 1.0
    meant: float = 0.0
    replaced: float = 0.0
    clause: float = 1.0


class AnswerReading(Value):
    """What the lines say to a question.

    Attributes:
        lines: One for each line, in order.
        unanswered: The calibrated probability that no line answers, 0 to 1; 1 where there is no line.
    """

    lines: tuple[LineReading, ...]
    unanswered: float


class AnswerReader(ABC):
    """Reads a question with all its lines together, in one pass."""

    @abstractmethod
    async def read(
        self, requests: Sequence[AnswerReadRequest], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[AnswerReading]:
        """Reads questions in order; lines longer than the model reads are cut, never left out.

        Raises:
            Overloaded: The queue is full.
            ModelUnavailable: The weights are missing or corrupt, or the engine is gone.
        """
