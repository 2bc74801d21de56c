"""Reading the best memories together with the question: which answer it, in which words, or that none does."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import structlog
from typing_extensions import override

from ..answering.corrections import drop_corrected
from ..answering.evidence import may_answer, takes_place_of
from ..answering.validity import states_outdated, value_instead, words_that_hold
from ..facts.asked_times import find_asked_time
from ..language.keywords import KeywordAnalyzer
from ..language.questions import is_question, refers_back, several_asked
from ..language.sentences import split_sentences
from ..language.tokens import find_codes, widen_to_identifiers
from ..language.wording import first_person
from ..ports.models.answer_reading import (
    AnswerReader,
    AnswerReading,
    AnswerReadRequest,
    DatedLine,
    LineReading,
)
from ..ports.services import Retriever
from ..values.errors import Unavailable
from ..values.evidence import ANSWERS, AnswerRecipe
from ..values.facts import Validity
from ..values.hits import Hit, HitKind, QuestionResult, SearchRequest, SearchResult
from ..values.text import fold, fold_lower
from ..values.understanding.dialogue import Role

_log = structlog.get_logger(__name__)
PART: Final = "answers"
"""What is degraded while nobody reads, and the part of a hit's score."""
_FOUND = 2
"""So many memories are found for each that is read, since some only ask."""


@dataclass(frozen=True)
class _Line:
    """A hit as the reader gets it: `opening`, then what it means from `start` on."""

    hit: Hit
    opening: str = ""
    start: int = 0

    @property
    def written(self) -> str:
        return self.opening + self.hit.meant[self.start :]

    @property
    def dated(self) -> DatedLine:
        return DatedLine(text=self.written, said_at=self.hit.created_at, role=self.hit.role or Role.USER)

    def words(self, reading: LineReading) -> str:
        start, end = widen_to_identifiers(self.hit.meant, self._place(reading.start), self._place(reading.end))
        return self.hit.meant[start:end]

    def asks(self, reading: LineReading) -> bool:
        """Whether the assistant asked where the words stand, so that they say nothing."""
        if self.hit.role is not Role.ASSISTANT:
            return False
        place, end = self._place(reading.start), 0
        for sentence in split_sentences(self.hit.meant):
            end += len(sentence)
            if place < end:
                return is_question(sentence)
        return False

    def _place(self, place: int) -> int:
        return 0 if place < len(self.opening) else place - len(self.opening) + self.start


class AnswerRetriever(Retriever):
    """Wraps a retriever: has its best memories read together with a question, and ranks them by what they answer.

    Read is what a memory means, with its references resolved, its speaker and its date; what was only asked, says
    nothing by itself or was corrected is not, and what the assistant asked answers nothing. Excerpts of documents are
    read in a pass of their own; whether nothing answers is as the surer pass says. A hit's score becomes
    `weight · answers + (1 − weight) · fused`; one that was not read has no `answers`, and an entity that the query
    names in full keeps its rank above others (000 §6.1). A memory that is told in the place of another
    (`Hit.instead_of`) answers as well as that one, and stays before it.
    Identifiers are not prose (DESIGN §6): where memories name an identifier of the query, one that names only others
    does not answer.

    A memory that may answer nothing comes after all others: to what is asked again, the question itself is the best
    match.

    Of a query with several questions each is read by itself, too. One with a pronoun answers no surer than the whole.

    A query that asks nothing is not read. A reader that is down is named in `degraded`, and the ranking stays as it was
    found; one with a full queue refuses the search (`Overloaded`).

    Args:
        retriever: Finds the hits.
        reader: Reads them.
        recipe: The number of memories and the weight.
    """

    def __init__(self, retriever: Retriever, *, reader: AnswerReader, recipe: AnswerRecipe = ANSWERS) -> None:
        self._retriever = retriever
        self._reader = reader
        self._recipe = recipe
        self._analyzer = KeywordAnalyzer()

    @override
    async def search(self, request: SearchRequest) -> SearchResult:
        if not _is_read(request):
            return await self._retriever.search(request)
        wider = request.model_copy(update={"top_k": max(request.top_k, _FOUND * self._recipe.lines)})
        result = await self._retriever.search(wider)
        rows = self._rows(result.hits)
        found = result.model_copy(update={"unanswered": None if result.degraded else 1.0})
        if rows:
            try:
                found = _together(await self._found(request, result.hits, rows), degraded=result.degraded)
            except Unavailable as error:
                _log.warning("retrieval_degraded", part=PART, component=error.component, error=error.message)
                found = result.model_copy(update={"degraded": (*result.degraded, PART)})
        return found.model_copy(update={"hits": found.hits[: request.top_k]})

    async def _found(
        self, request: SearchRequest, hits: Sequence[Hit], rows: Sequence[Sequence[_Line]]
    ) -> list[QuestionResult]:
        """What answers the query as a whole and, where it holds several questions, each of them."""
        questions = (request.query, *several_asked(request.query, self._analyzer))
        readings = await self._read(request, questions, rows)
        whole = readings[: len(rows)]
        found = []
        for place, question in enumerate(questions):
            of_question = readings[place * len(rows) : (place + 1) * len(rows)]
            if place and refers_back(question):
                of_question = [_no_surer(*pair) for pair in zip(of_question, whole, strict=True)]
            asked = request.model_copy(update={"query": question})
            ranked = self._ranked(asked, hits, rows, of_question)[: request.top_k]
            unanswered = min(reading.unanswered for reading in of_question)
            found.append(QuestionResult(question=question, hits=ranked, unanswered=unanswered))
        return found

    def _rows(self, hits: Sequence[Hit]) -> list[list[_Line]]:
        """What is read in one pass each: the best memories, and excerpts of documents, which would leave no room."""
        lines = _lines_of(hits)
        excerpts = [line for line in lines if line.hit.kind is HitKind.KNOWLEDGE]
        memories = [line for line in lines if line.hit.kind is not HitKind.KNOWLEDGE]
        return [row[: self._recipe.lines] for row in (memories, excerpts) if row]

    async def _read(
        self, request: SearchRequest, questions: Sequence[str], rows: Sequence[Sequence[_Line]]
    ) -> list[AnswerReading]:
        """All rows read with the first question, then with the next."""
        return await self._reader.read(
            [
                AnswerReadRequest(
                    question=question,
                    lines=tuple(line.dated for line in row),
                    now=request.now,
                    of_documents=row[0].hit.kind is HitKind.KNOWLEDGE,
                )
                for question in questions
                for row in rows
            ]
        )

    def _ranked(
        self,
        request: SearchRequest,
        hits: Sequence[Hit],
        rows: Sequence[Sequence[_Line]],
        readings: Sequence[AnswerReading],
    ) -> tuple[Hit, ...]:
        asks_about_now = find_asked_time(request.query, request.now) is None
        known = [fact for row in rows for line in row for fact in line.hit.validity]
        read = {
            line.hit.id: _with_reading(line, of_line, request.query, known, asks_about_now=asks_about_now)
            for row, reading in zip(rows, readings, strict=True)
            for line, of_line in zip(row, reading.lines, strict=True)
        }
        read = _with_same_codes(read, request.query)
        read = {id_: _in_its_place(hit, read) for id_, hit in read.items()}
        read = {id_: _as_replaced(hit, read) for id_, hit in read.items()}
        return _best_first(self._scored(read.get(hit.id, hit)) for hit in hits)

    def _scored(self, hit: Hit) -> Hit:
        answers = 1.0 if "exact" in hit.parts else hit.parts.get(PART, 0.0)
        score = self._recipe.weight * answers + (1.0 - self._recipe.weight) * hit.score
        return hit.model_copy(update={"score": score, "parts": {"fused": hit.score, **hit.parts}})


def _no_surer(reading: AnswerReading, whole: AnswerReading) -> AnswerReading:
    """A reading of a question, no surer than that of the whole query in which it refers back to another."""
    lines = tuple(
        line.model_copy(update={"answers": min(line.answers, of_whole.answers)})
        for line, of_whole in zip(reading.lines, whole.lines, strict=True)
    )
    return AnswerReading(lines=lines, unanswered=max(reading.unanswered, whole.unanswered))


def _together(found: Sequence[QuestionResult], *, degraded: tuple[str, ...]) -> SearchResult:
    """The result for a query, each hit as the question says that it answers most surely."""
    surest: dict[str, Hit] = {}
    for hit in (hit for result in found for hit in result.hits):
        if hit.id not in surest or hit.parts.get(PART, 0.0) > surest[hit.id].parts.get(PART, 0.0):
            surest[hit.id] = hit
    return SearchResult(
        hits=_best_first(surest.values()),
        unanswered=min(result.unanswered for result in found),
        questions=tuple(found[1:]),
        degraded=degraded,
    )


def _best_first(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """Sorted; what takes another's place stays before it, and what may answer nothing comes last."""
    return tuple(sorted(hits, key=lambda hit: (_says_nothing(hit), -hit.score)))


def _is_read(request: SearchRequest) -> bool:
    if HitKind.MEMORY not in request.kinds or request.entity_type is not None:
        return False
    return is_question(request.query) if request.asks is None else request.asks


def _says_nothing(hit: Hit) -> bool:
    """Whether a memory was not read because it may answer nothing."""
    return hit.kind is HitKind.MEMORY and hit.words is None and not may_answer(hit)


def _lines_of(hits: Sequence[Hit]) -> list[_Line]:
    """The memories that may answer something, best first."""
    return [_line_of(hit) for hit in drop_corrected([hit for hit in hits if hit.kind.is_quotable]) if may_answer(hit)]


def _line_of(hit: Hit) -> _Line:
    """With its speaker; what was given about the user in the first person, as users say it, but a document as it is."""
    if hit.kind is HitKind.KNOWLEDGE:
        return _Line(hit)
    if hit.speaker:
        return _Line(hit, f"{hit.speaker}: ")
    return _Line(hit) if hit.role is Role.ASSISTANT else _Line(hit, *first_person(hit.meant))


def _with_reading(
    line: _Line, reading: LineReading, query: str, known: Sequence[Validity], *, asks_about_now: bool
) -> Hit:
    """The hit with what was read; of an earlier time, nothing is asked that could be out of date.

    A value that the query names is no answer to it: "what did I drive before the Golf?".
    """
    outdated = reading.outdated if asks_about_now else 0.0
    answers = 0.0 if line.asks(reading) else reading.answers
    words = line.words(reading)
    said: dict[str, float] = {"outdated": outdated, "words": reading.words}
    held = words_that_hold(line.hit.meant, words, line.hit.validity, known)
    if held is not None and fold_lower(held) not in fold_lower(query):
        words, said = held, {"outdated": 0.0, "words": 1.0}
    return line.hit.model_copy(update={"parts": {**line.hit.parts, PART: answers, **said}, "words": words})


def _with_same_codes(read: Mapping[str, Hit], query: str) -> dict[str, Hit]:
    """The hits; where some name an identifier of the query, those that name only others do not answer it."""
    asked = _codes_in(query)
    named = {id_: _codes_in(hit.meant) for id_, hit in read.items()} if asked else {}
    if not any(codes & asked for codes in named.values()):
        return dict(read)
    others = {id_ for id_, codes in named.items() if codes and not codes & asked}
    return {
        id_: hit.model_copy(update={"parts": {**hit.parts, PART: 0.0}}) if id_ in others else hit
        for id_, hit in read.items()
    }


def _codes_in(text: str) -> set[str]:
    folded = fold(text)
    return {folded[start:end].casefold() for start, end in find_codes(folded)}


def _in_its_place(hit: Hit, read: Mapping[str, Hit]) -> Hit:
    """The hit, which answers as well as the one whose place it takes; then in the words of the fact that it states."""
    matched = [other for other in read.values() if takes_place_of(hit, other, other.words or "")]
    best = max((other.parts[PART] for other in matched), default=0.0)
    if best <= hit.parts[PART]:
        return hit
    value = value_instead(hit.meant, [fact for other in matched for fact in other.validity], hit.validity)
    parts = {**hit.parts, PART: best, "outdated": 0.0}
    if hit.words and value is None and not any(_states_outdated(other) for other in matched):
        return hit.model_copy(update={"parts": parts})
    parts["words"] = 1.0
    return hit.model_copy(update={"parts": parts, "words": value or hit.meant})


def _states_outdated(hit: Hit) -> bool:
    return states_outdated(hit.meant, hit.words or "", hit.validity)


def _as_replaced(hit: Hit, read: Mapping[str, Hit]) -> Hit:
    """The hit, which holds no longer (`replaced` among its parts) where what replaced it answers as well."""
    if not hit.is_replaced:
        return hit
    takes = any(takes_place_of(other, hit, "") and other.parts[PART] >= hit.parts[PART] for other in read.values())
    return hit.model_copy(update={"parts": {**hit.parts, "replaced": 1.0}}) if takes else hit
