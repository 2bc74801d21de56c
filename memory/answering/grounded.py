"""The grounded answerer: a language model words the answer to a question from the memories that answer it."""

import asyncio
import time
from collections.abc import Callable, Sequence

import structlog
from typing_extensions import override

from ..language.phrases import ENGLISH, SIMPLIFIED, Phrases
from ..language.written import Language
from ..ports.models.chat_models import LANGUAGE_MODEL
from ..prompting.answers import NOT_GROUNDED, GroundedAnswer, GroundedQuestion, GroundedWriter, SourceLine
from ..values.errors import ModelUnavailable, NoValidAnswer
from ..values.evidence import EVIDENCE_BOUNDS, EvidenceBounds
from ..values.facts import Standing, Validity
from ..values.hits import Hit
from ..values.understanding.dialogue import Role
from .answers import Answer, AnsweredBy, Answerer, AnswerRequest
from .evidence import Evidence, choose_evidence
from .quoting import Quoted, earlier_quotations, quotations
from .replies import Kind, kind_of, phrases_of
from .validity import are_in_conflict

_log = structlog.get_logger(__name__)


class GroundedAnswerer(Answerer):
    """Answers questions with a language model, and all else, and wherever the model fails, as another answerer does.

    The model sees the question and the memories whose reading says that they answer it, no others; where none does, or
    nobody has read them, it is not asked. Nor is it where memories contradict each other or may hold no longer, which
    is said in words that are known to be right. An answer that names what its memories do not is not used; where the
    model finds that they do not answer, the reply is that nothing is known.

    Args:
        otherwise: Answers first; its answer stands unless the model has a better one.
        writer: Asks the model and checks what it says.
        bounds: Those by which `otherwise` chooses among what was read.
        deadline_s: Seconds for an answer, further attempts included.
        rest_s: Seconds for which the model is not asked after the deadline has passed.
        clock: Seconds that never go back.
    """

    def __init__(
        self,
        otherwise: Answerer,
        *,
        writer: GroundedWriter,
        bounds: EvidenceBounds = EVIDENCE_BOUNDS,
        deadline_s: float = 20.0,
        rest_s: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._otherwise = otherwise
        self._writer = writer
        self._bounds = bounds
        self._deadline_s = deadline_s
        self._rest_s = rest_s
        self._clock = clock
        self._rests_until = 0.0

    @override
    async def answer(self, request: AnswerRequest) -> Answer:
        answer = await self._otherwise.answer(request)
        evidence = self._evidence(request, answer.sources)
        if evidence is None:
            return answer
        current = quotations(evidence)
        if _must_be_qualified(_stated(current)):
            return answer
        phrases = phrases_of(request)
        question = _question(request, current, evidence, phrases)
        try:
            written = await self._write(question)
        except NoValidAnswer as error:
            is_grounded = error.reason not in NOT_GROUNDED
            self._writer.count("invalid" if is_grounded else "not_grounded")
            _log.warning(
                "answer_not_valid" if is_grounded else "answer_not_grounded",
                component=LANGUAGE_MODEL,
                model=self._writer.model_id,
                reason=error.reason,
            )
            return answer
        except ModelUnavailable as error:
            _log.warning("extractive_answer_used", component=LANGUAGE_MODEL, error=error.message)
            return answer.model_copy(update={"degraded": (*answer.degraded, LANGUAGE_MODEL)})
        if not written.cited:
            self._writer.count("declined")
            nothing = await self._otherwise.answer(request.model_copy(update={"unanswered": 1.0}))
            return Answer(text=nothing.text, answered_by=AnsweredBy.LANGUAGE_MODEL)
        return _answer(written, current, evidence)

    def _evidence(self, request: AnswerRequest, sources: Sequence[Hit]) -> Evidence | None:
        """What the other answerer quotes; None where the message is no question of which a reading tells."""
        if not sources or request.unanswered is None or kind_of(request) is not Kind.QUESTION:
            return None
        return choose_evidence(sources, request.unanswered, self._bounds)

    async def _write(self, question: GroundedQuestion) -> GroundedAnswer:
        """What the model answers.

        Raises:
            NoValidAnswer: Nothing that can be used.
            ModelUnavailable: The model is away, rests, or did not answer in time.
        """
        if self._clock() < self._rests_until:
            raise ModelUnavailable("The language model is resting: it was too slow.", component=LANGUAGE_MODEL)
        try:
            async with asyncio.timeout(self._deadline_s):
                return await self._writer.write(question)
        except TimeoutError:
            self._rests_until = self._clock() + self._rest_s
            message = f"There was no answer within {self._deadline_s:g} s."
            raise ModelUnavailable(message, component=LANGUAGE_MODEL) from None


def _question(
    request: AnswerRequest, current: Sequence[Quoted], evidence: Evidence, phrases: Phrases
) -> GroundedQuestion:
    lines = [_line(part, is_current=True) for part in current]
    lines += [_line(part, is_current=False) for part in earlier_quotations(evidence)]
    return GroundedQuestion(
        question=request.resolved, language=_language_of(phrases), lines=tuple(lines), today=request.now.date()
    )


def _line(part: Quoted, *, is_current: bool) -> SourceLine:
    hit = part.hit
    held = [fact for fact in part.stated if fact.standing is Standing.HELD] if is_current else []
    ends = [fact.valid_to for fact in held if fact.valid_to is not None]
    return SourceLine(
        text=part.text,
        said_on=hit.created_at.date(),
        speaker=hit.place.source_uri if hit.place else hit.speaker or (hit.role or Role.USER).value,
        words=hit.words or "",
        until=max(ends).date() if ends else None,
        is_current=is_current,
    )


def _answer(written: GroundedAnswer, current: Sequence[Quoted], evidence: Evidence) -> Answer:
    hits = [*(part.hit for part in current), *evidence.earlier]
    stated = _stated([part for place, part in enumerate(current) if place in written.cited])
    return Answer(
        text=written.text,
        answered_by=AnsweredBy.LANGUAGE_MODEL,
        confidence=evidence.confidence,
        sources=tuple(hits[place] for place in written.cited),
        fact_ids=tuple(dict.fromkeys(fact.fact_id for fact in stated)),
    )


def _must_be_qualified(stated: Sequence[Validity]) -> bool:
    """Whether it must be said that something is in doubt or contradicted."""
    return are_in_conflict(stated) or any(fact.standing is Standing.DOUBTFUL for fact in stated)


def _stated(quoted: Sequence[Quoted]) -> list[Validity]:
    return [fact for part in quoted for fact in part.stated]


def _language_of(phrases: Phrases) -> Language:
    if phrases is ENGLISH:
        return Language.ENGLISH
    return Language.SIMPLIFIED_CHINESE if phrases is SIMPLIFIED else Language.TRADITIONAL_CHINESE
