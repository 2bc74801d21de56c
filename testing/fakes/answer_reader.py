"""An answer reader with no weights: what a test scripts, else the words that a line shares with the question."""

from collections.abc import Mapping, Sequence

from typing_extensions import override

from memory.language.keywords import KeywordAnalyzer
from memory.ports.models.answer_reading import AnswerReader, AnswerReading, AnswerReadRequest, DatedLine, LineReading
from memory.ports.models.language import Priority
from memory.values.errors import JiyiError

_SURE = 0.95
_UNLIKELY = 0.02
Lines = Mapping[str, str]
"""By a part of the line's text, the words that answer; empty for a line that answers by its date."""


class FakeAnswerReader(AnswerReader):
    """Answers at once; keeps the requests.

    A question that is scripted is answered by its lines, and by none if it has none; as a request to forget it means
    them. Of any other question, a line answers as far as it holds the question's words, in all its words.

    Args:
        answers: By question, the lines that answer.
        outdated: By question, the lines of which another took the place.
        replaced: By message, parts of the lines that hold no longer after it.
        clauses: By request to forget, parts of the clauses that it means; any other means all.
        words: The probability of the words that answer.
        unlikely: The probability of what is not scripted.
        error: Raised by every call.
    """

    def __init__(
        self,
        *,
        answers: Mapping[str, Lines] | None = None,
        outdated: Mapping[str, Lines] | None = None,
        replaced: Mapping[str, Sequence[str]] | None = None,
        clauses: Mapping[str, Sequence[str]] | None = None,
        words: float = 1.0,
        unlikely: float = _UNLIKELY,
        error: JiyiError | None = None,
    ) -> None:
        self.answers = dict(answers or {})
        self.outdated = dict(outdated or {})
        self.replaced = dict(replaced or {})
        self.clauses = dict(clauses or {})
        self.words = words
        self.unlikely = unlikely
        self.error = error
        self.requests: list[AnswerReadRequest] = []
        self._analyzer = KeywordAnalyzer()

    @override
    async def read(
        self, requests: Sequence[AnswerReadRequest], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[AnswerReading]:
        if self.error is not None:
            raise self.error
        self.requests += requests
        return [self._read(request) for request in requests]

    def _read(self, request: AnswerReadRequest) -> AnswerReading:
        lines = tuple(self._line(request.question, line) for line in request.lines)
        scripted = self.answers.get(request.question, {})
        meant = [_scripted(scripted, line) is not None for line in request.lines]
        share = _SURE / max(1, sum(meant))
        lines = tuple(
            line.model_copy(
                update={"meant": share * is_meant, "replaced": _SURE * is_replaced, "clause": _SURE * is_clause}
            )
            for line, is_meant, is_replaced, is_clause in zip(
                lines,
                meant,
                _having(request, self.replaced.get(request.question, ())),
                _having(request, self.clauses.get(request.question, ("",))),
                strict=True,
            )
        )
        return AnswerReading(lines=lines, unanswered=1.0 - max((line.answers for line in lines), default=0.0))

    def _line(self, question: str, line: DatedLine) -> LineReading:
        if question not in self.answers:
            asked = self._analyzer.content_terms(question)
            share = len(asked & self._analyzer.content_terms(line.text)) / max(1, len(asked))
            return LineReading(answers=share, outdated=0.0, start=0, end=len(line.text))
        words = _scripted(self.answers[question], line)
        old_words = _scripted(self.outdated.get(question, {}), line)
        found = words if words is not None else old_words or ""
        start = line.text.index(found)
        return LineReading(
            answers=self.unlikely if words is None else _SURE,
            outdated=self.unlikely if old_words is None else _SURE,
            start=start if found else 0,
            end=start + len(found) if found else 0,
            words=self.words,
        )


def _having(request: AnswerReadRequest, parts: Sequence[str]) -> list[bool]:
    """For each line whether it has one of these parts."""
    return [any(part in line.text for part in parts) for line in request.lines]


def _scripted(lines: Lines, line: DatedLine) -> str | None:
    return next((words for part, words in lines.items() if part in line.text), None)
