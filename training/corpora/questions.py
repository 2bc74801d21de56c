"""Reads what the chat corpora ask of dated lines: the `answers` blocks, and the questions of whole scenarios."""

import dataclasses
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path

from memory.language.times import relative_times_in
from memory.ports.models.answer_reading import DatedLine
from memory.values.understanding.dialogue import Role

from ..shared.chat_corpus import blocks, files_of, language_of
from ..shared.data_sets import Part

NONE, UPDATE, PAST, REQUEST = "none", "update", "past", "request"
REPLACING = (UPDATE, PAST)
"""Kinds of questions whose answer replaced another or was replaced."""
_LINE = re.compile(r"(\d+) (\d{4}-\d\d-\d\d) (?:\((\w[^)]*)\) )?(.+)")
_FORGET, _AS_OF, _TEMPORAL = "forget", "as_of", "temporal"
_ALTERNATIVES = re.compile(r"(?<!\d)/|/(?!\d)")
"""Between alternatives, but not in 3/27."""
_ASKS_BACK = re.compile(r"=> *ASK\b")
"""Requests to forget that are to be asked back about: nothing says which lines they mean."""
_IN_DOUBT = ("STALE", "DOUBT")
_NEIGHBOURS = 2
_ASKS_TO_FORGET = re.compile(
    r"\b(forget|delete|erase|remove|bin|scrub|scrap|wipe|scratch|drop|lose|clear|get rid|pretend|unsay|don't keep)\b"
    "|[忘刪删抹劃划]|[拿去清丟丢扔放][掉了]|清[除一]|移除|[別别莫]再?[記记留存]|不[要用]?再?幫?帮?我?[記记留存]|[當当]作?我?[沒没]|收回|不[記记留存]了",
    re.IGNORECASE,
)
_NOON = timedelta(hours=12)

Words = tuple[int, int]
"""Where words begin and end in the text of a line; both 0 where the line answers without words of its own."""


class Source(StrEnum):
    """Where questions are from; the folders of a corpus, and public data."""

    ANSWERS = "answers"
    NEAR = "near"
    """As `answers`; nearly half of the questions have a line of the right kind about something else."""
    TOGETHER = "together"
    """As `answers`; most messages tell several things at once."""
    PASSAGES = "passages"
    """Over excerpts of a document."""
    SCENARIOS = "scenarios"
    """Over all that a user said over weeks, among which some must be chosen."""
    ARTICLES = "articles"
    """Public questions over excerpts (`passages.py`)."""

    @property
    def is_document(self) -> bool:
        """Whether the lines are excerpts of documents."""
        return self in (Source.PASSAGES, Source.ARTICLES)


_FOLDERS = (Source.ANSWERS, Source.NEAR, Source.TOGETHER, Source.PASSAGES)


@dataclass(frozen=True, slots=True)
class MarkedQuestion:
    """A question over the lines of a block.

    Attributes:
        id: File and line.
        question: As it is asked.
        kind: Single, update, past and so on; `NONE` where no line answers; `REQUEST` for what the user asked to
            forget, which is read as a question is.
        gold: Numbers of the lines that answer; none where nothing does.
        words: Where the words that answer stand in lines of `gold`, as far as it is known.
        outdated: Numbers of lines that say what held before, as far as they are known: where nothing answers, what hung
            on something that has changed.
        without: Numbers of lines that must not be shown with the question: what they say was forgotten.
    """

    id: str
    question: str
    kind: str
    gold: tuple[int, ...] = ()
    words: Mapping[int, Words] = field(default_factory=dict)
    outdated: tuple[int, ...] = ()
    without: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class MarkedLines:
    """Dated lines with the questions asked of them.

    Attributes:
        language: Of `shared.chat_corpus.LANGUAGES`.
        lines: From the oldest to the newest.
        questions: Each over the same lines.
        now: When the questions are asked; None where the corpus does not say.
        source: Where they are from.
    """

    language: str
    lines: tuple[DatedLine, ...]
    questions: tuple[MarkedQuestion, ...]
    now: datetime | None = None
    source: Source = Source.ANSWERS


def read_answers(folders: Sequence[Path], part: Part) -> list[MarkedLines]:
    """The blocks of a part, from the folders of `_FOLDERS` of corpora, in the order of files."""
    return [
        block for source in _FOLDERS for path in files_of(folders, source, part) for block in _answers(path, source)
    ]


def read_scenarios(folders: Sequence[Path], part: Part) -> list[MarkedLines]:
    """The scenarios of a part, from the `scenarios` folders of corpora, in the order of their files."""
    return [block for path in files_of(folders, "scenarios", part) for block in _scenarios(path)]


def _answers(path: Path, source: Source) -> Iterator[MarkedLines]:
    for block in blocks(path):
        numbers: dict[int, int] = {}
        lines: list[DatedLine] = []
        questions: list[MarkedQuestion] = []
        for at, text in block:
            if text.startswith("? "):
                questions.append(_question(f"{path.stem}-{at}", text[2:], numbers, lines))
            elif found := _LINE.match(text):
                numbers[int(found[1])] = len(lines)
                role = Role.ASSISTANT if found[3] == Role.ASSISTANT else Role.USER
                lines.append(DatedLine(text=found[4].strip(), said_at=_time(found[2]), role=role))
            else:
                raise ValueError(f"{path.name}:{at} is neither a line nor a question.")
        if questions:
            yield MarkedLines(language_of(path), tuple(lines), tuple(_with_replaced(questions)), source=source)


def _time(day: str) -> datetime:
    return datetime.fromisoformat(day).replace(tzinfo=UTC) + _NOON


def _question(name: str, marked: str, numbers: Mapping[int, int], lines: Sequence[DatedLine]) -> MarkedQuestion:
    question, _, rest = marked.partition("=>")
    gold_text, *more = (part.strip() for part in rest.split("|"))
    if gold_text == "NONE":
        return MarkedQuestion(name, question.strip(), NONE)
    gold = tuple(numbers[int(number)] for number in gold_text.split(","))
    spans = [words.strip() for words in more[0].split("&")] if more and more[0] else []
    kind = more[1] if len(more) > 1 else "single"
    found = {line: words for line in gold if (words := _places(lines[line].text, spans)) is not None}
    return MarkedQuestion(
        name,
        question.strip(),
        kind,
        gold,
        words=found if spans else dict.fromkeys(gold, (0, 0)),
        outdated=gold if kind == PAST else (),
    )


def _places(text: str, spans: Sequence[str]) -> Words | None:
    """From the first to the last of the words that stand in the text; None where none does."""
    places = [(text.find(words), text.find(words) + len(words)) for words in spans if words and words in text]
    return (min(start for start, _ in places), max(end for _, end in places)) if places else None


def _with_replaced(questions: Sequence[MarkedQuestion]) -> Iterator[MarkedQuestion]:
    """Questions of an update, with the lines that answer the question of the past nearest to it."""
    replaced: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for number, question in enumerate(questions):
        if question.kind == PAST:
            near = [
                other
                for other, asked in enumerate(questions)
                if asked.kind == UPDATE and abs(other - number) <= _NEIGHBOURS
            ]
            if near:
                nearest = min(near, key=lambda other: abs(other - number))
                replaced[questions[nearest].gold].update(question.gold)
    for question in questions:
        outdated = replaced[question.gold] - set(question.gold) if question.kind == UPDATE else ()
        yield dataclasses.replace(question, outdated=tuple(sorted(outdated))) if outdated else question


def _scenarios(path: Path) -> Iterator[MarkedLines]:
    sessions: list[datetime] = []
    lines: list[DatedLine] = []
    questions: list[MarkedQuestion] = []

    def scenario() -> MarkedLines:
        return MarkedLines(language_of(path), tuple(lines), tuple(questions), sessions[-1], Source.SCENARIOS)

    for at, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if text.startswith("@ "):
            if questions:
                yield scenario()
            sessions, lines, questions = [], [], []
        elif text.startswith("## "):
            sessions.append(datetime.fromisoformat(text[3:].strip()).replace(tzinfo=UTC))
        elif text.startswith("U:"):
            lines.append(DatedLine(text=text[2:].strip(), said_at=sessions[-1]))
        elif text.startswith("? ") and not _ASKS_BACK.search(text):
            asked = _asked(f"{path.stem}-{at}", text[2:], lines)
            questions.append(asked)
            questions += _request(asked, lines) if asked.without else ()
    if questions:
        yield scenario()


def _request(asked: MarkedQuestion, lines: Sequence[DatedLine]) -> Iterator[MarkedQuestion]:
    """The request by which something was forgotten, if one line alone is it, over the lines before it."""
    last = max(asked.without)
    requests = [
        number for number in range(min(asked.without) + 1, len(lines)) if _ASKS_TO_FORGET.search(lines[number].text)
    ]
    meant = tuple(number for number in asked.without if requests and number < requests[0])
    if len(requests) == 1 and meant and last <= requests[0]:
        [request] = requests
        after = tuple(range(request, len(lines)))
        yield MarkedQuestion(f"{asked.id}-request", lines[request].text, REQUEST, meant, without=after)


def _asked(name: str, marked: str, lines: Sequence[DatedLine]) -> MarkedQuestion:
    question, _, rest = marked.partition("=>")
    answer, *parts = (part.strip() for part in rest.split("|"))
    fields = {key.strip(): value.strip() for key, _, value in (part.partition(":") for part in parts)}
    wrong = [value.strip() for value in fields.get("not", "").split("/") if value.strip()]
    evidence = [int(number) - 1 for number in re.findall(r"\d+", fields.get("ev", ""))]
    folded = [line.text.casefold() for line in lines]
    said = {number for number, text in enumerate(folded) if any(value.casefold() in text for value in wrong)}
    if answer == "NONE":
        is_forgotten = fields.get("type") == _FORGET
        return MarkedQuestion(
            name, question.strip(), NONE, without=tuple(sorted(said | set(evidence))) if is_forgotten else ()
        )
    if answer.startswith(_IN_DOUBT):  # nothing says how it is now
        return MarkedQuestion(name, question.strip(), fields["type"], outdated=tuple(evidence[:1]))
    accepted = [[part.strip() for part in choice.split("&")] for choice in _ALTERNATIVES.split(answer)]
    parts_of_answer = [part for choice in accepted for part in choice]
    words = {line: place for line in evidence if (place := _first(lines[line].text, parts_of_answer)) is not None}
    old = tuple(line for line in sorted(said) if line not in words)
    gold = tuple(line for line in evidence if line not in old) or tuple(evidence)
    kind = fields.get("type", "single")
    if kind == _TEMPORAL and not words:
        words = {line: _tells_time(lines[line].text) for line in gold}
    return MarkedQuestion(
        name,
        question.strip(),
        kind,
        gold,
        words={line: place for line, place in words.items() if line in gold},
        outdated=gold if kind == _AS_OF else tuple(line for line in old if line not in gold),
    )


def _tells_time(text: str) -> Words:
    """The first time that a text tells by its distance; no words where it answers by its own date."""
    return next(iter(relative_times_in(text)), (0, 0))


def _first(text: str, parts: Sequence[str]) -> Words | None:
    folded = text.casefold()
    for part in parts:
        if part and len(folded) == len(text) and (start := folded.find(part.casefold())) >= 0:
            return start, start + len(part)
    return None
