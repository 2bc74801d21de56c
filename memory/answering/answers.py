"""The answerer's role, its request and its answer, and the bounds from which a cosine counts as evidence."""

from abc import ABC, abstractmethod
from enum import StrEnum

from ..values.base import Timestamp, Value
from ..values.hits import Hit, QuestionResult, SearchResult
from ..values.understanding.dialogue import Turn
from ..values.understanding.extractions import Extraction
from ..values.understanding.resolutions import Clarification


class AnsweredBy(StrEnum):
    """The kind of answerer that made an answer."""

    EXTRACTIVE = "extractive"
    LANGUAGE_MODEL = "language_model"


class Assistant(Value):
    """Who the assistant is for a user: its name and sentences about it, empty where none are given (003 §2.1)."""

    name: str = ""
    facts: tuple[str, ...] = ()


class AnswerRequest(Value):
    """A message to answer, and what is known about it.

    Args:
        message: The message; one that revises an earlier message is replaced by that one, as it was meant.
        resolved: The message with its references resolved.
        revised: Whether it revises an earlier message.
        clarification: The question to ask where a reference is ambiguous.
        extraction: What was understood of the message: its intents, facts, names and requests to remember.
        hits: What retrieval found, best first, what holds before what it replaced.
        unanswered: The calibrated probability that none of them answers; None where nobody read them.
        questions: Where the message asks several, each with what answers it, in order.
        turns: The conversation before the message, oldest first.
        written: What the user wrote before it, latest first, also in other sessions where these tell no script.
        assistant: Who replies.
    """

    message: str
    resolved: str
    revised: bool = False
    clarification: Clarification | None = None
    extraction: Extraction = Extraction()
    hits: tuple[Hit, ...] = ()
    unanswered: float | None = None
    questions: tuple[QuestionResult, ...] = ()
    turns: tuple[Turn, ...] = ()
    written: tuple[str, ...] = ()
    assistant: Assistant = Assistant()
    now: Timestamp

    def with_found(self, result: SearchResult | QuestionResult) -> "AnswerRequest":
        """The same with what was found."""
        questions = result.questions if isinstance(result, SearchResult) else ()
        return self.model_copy(update={"hits": result.hits, "unanswered": result.unanswered, "questions": questions})


class Answer(Value):
    """A reply, the hits that support it, and the ids of the facts that it states.

    `confidence` is the calibrated probability that a question is answered rightly, or rightly not answered, 0 to 1;
    None where nobody read what was found, for what is no question, and where a language model found that what was read
    does not answer. `degraded` names what was to answer and could not.
    """

    text: str
    answered_by: AnsweredBy
    confidence: float | None = None
    sources: tuple[Hit, ...] = ()
    fact_ids: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()


class Answerer(ABC):
    """Answers a message from retrieved memories.

    A hit says of each fact that it states how that stands at the time of the question (`Hit.validity`): what is
    OUTDATED is no answer, DOUBTFUL and HELD are told as such.
    """

    @abstractmethod
    async def answer(self, request: AnswerRequest) -> Answer:
        """Answers in the language of the message; states nothing that no source states, promises nothing untrue."""
