"""Several questions in one message: each is answered by itself, in the order in which they were asked."""

from collections.abc import Sequence

from typing_extensions import override

from ..language.questions import refers_back
from ..values.hits import QuestionResult
from ..values.text import has_han
from .answers import Answer, Answerer, AnswerRequest
from .replies import Kind, kind_of


class SeveralAnswerer(Answerer):
    """Wraps an answerer: has it answer each question of a message, and says which of them nothing answers.

    That is not said of a question with a pronoun: what it means may be in the question before. A message of which no
    question is answered by itself, or in which a reference is ambiguous, is answered as a whole.

    Args:
        answerer: Answers one question.
    """

    def __init__(self, answerer: Answerer) -> None:
        self._answerer = answerer

    @override
    async def answer(self, request: AnswerRequest) -> Answer:
        answers: list[tuple[QuestionResult, Answer]] = []
        if kind_of(request) is Kind.QUESTION and request.clarification is None:
            answers = [(asked, await self._answerer.answer(_alone(request, asked))) for asked in request.questions]
        if not any(answer.sources for _, answer in answers):
            return await self._answerer.answer(request)
        return _joined([pair for pair in answers if pair[1].sources or not refers_back(pair[0].question)])


def _alone(request: AnswerRequest, asked: QuestionResult) -> AnswerRequest:
    return request.with_found(asked).model_copy(update={"resolved": asked.question})


def _joined(answers: Sequence[tuple[QuestionResult, Answer]]) -> Answer:
    """The answers under each other; what is told twice, once."""
    told = [answer.text if answer.sources else f"{_asking(asked.question)}{answer.text}" for asked, answer in answers]
    sources = {hit.id: hit for _, answer in answers for hit in answer.sources}
    sure = [answer.confidence for _, answer in answers if answer.confidence is not None]
    return Answer(
        text="\n".join(dict.fromkeys(line for text in told for line in text.splitlines())),
        answered_by=answers[0][1].answered_by,
        confidence=min(sure, default=None),
        sources=tuple(sources.values()),
        fact_ids=tuple(dict.fromkeys(id_ for _, answer in answers for id_ in answer.fact_ids)),
        degraded=tuple(dict.fromkeys(part for _, answer in answers for part in answer.degraded)),
    )


def _asking(question: str) -> str:
    return f"{question}？" if has_han(question) else f"{question[:1].upper()}{question[1:]}? "
