"""Writes an answer: the words that answer first, then the quotations with their speakers and dates.

A quotation is in the words that were said, with what a reference means in brackets: 他（徐濤）, "it [the van]".
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from ..language.phrases import ENGLISH, Phrases, phrases_for
from ..language.questions import asks_date
from ..values.facts import Standing, Validity
from ..values.hits import Hit, Place
from ..values.text import has_han, normalise
from ..values.understanding.dialogue import Role
from .dates import date_of_words, write_day
from .evidence import Evidence
from .forgetting import listed
from .validity import are_in_conflict, qualified, stated_in, valid_part, without_doubtful

_SENTENCE = re.compile(r"[^。！？!?\n]*[。！？!?\n]?")
_ENDS = " \t\n，。！？；：、,.!?;:"
_MAX_QUOTE_CHARACTERS = 200
_MAX_WORDS_CHARACTERS = 60
"""Words that are longer than this are read in the quotation."""
_LETTERS = r"[^\W\u3400-\u9fff]+"
_TOKEN = re.compile(rf"{_LETTERS}(?:['’-]{_LETTERS})*|\s+|.", re.DOTALL)
_LATIN_WORDS = re.compile(r"[^\d\u3400-\u9fff]*[A-Za-z][^\d\u3400-\u9fff]*")
_LEAST_IN_COMMON = 0.5
"""Share of the words said that stand in what is meant; with less it is another statement, as of a correction."""


@dataclass(frozen=True)
class Quoted:
    """A memory and what of it is quoted, with its references resolved."""

    hit: Hit
    text: str

    @property
    def stated(self) -> list[Validity]:
        """The facts that the quotation states."""
        return stated_in(self.text, self.hit.validity)

    def line(self, phrases: Phrases) -> str:
        """The quotation with its speaker and date, or its place in a document, and with what must be said of it."""
        quote = phrases.nested(with_references_beside(self.text, self.hit))
        if self.hit.place is not None:
            return phrases.cited.format(place=cite(self.hit.place, phrases), quote=quote)
        by_role = {Role.USER: phrases.user, Role.ASSISTANT: phrases.assistant}
        speaker = self.hit.speaker or (by_role[self.hit.role] if self.hit.role else phrases.anonymous)
        said = phrases.said.format(speaker=speaker, date=_date(self.hit), quote=quote)
        return qualified(said, self.stated, phrases)


def cite(place: Place, phrases: Phrases) -> str:
    """Where a quotation of a document stands: the document, its page and the headings."""
    page = "" if place.page is None else phrases.page.format(page=place.page)
    parts = (place.title or place.source_uri, page, *place.headings)
    return " · ".join(dict.fromkeys(filter(None, parts)))


def write_quotations(quoted: Sequence[Quoted], phrases: Phrases, *, answer: str = "", closing: str = "") -> str:
    """The lines of an answer; that the quotations contradict each other is said first.

    Args:
        quoted: What is quoted.
        phrases: The language.
        answer: The answer in a few words; empty for none.
        closing: What is said behind them, as what held before; empty for nothing.
    """
    in_conflict = are_in_conflict([fact for part in quoted for fact in part.stated])
    heading = phrases.conflicting if in_conflict else answer
    lines = [heading, *(part.line(phrases) for part in quoted), closing]
    return "\n".join(line for line in dict.fromkeys(lines) if line)


def quotations(evidence: Evidence) -> list[Quoted]:
    """What is quoted of each memory that answers: what holds, shortened to the sentence that answers."""
    return [Quoted(hit, shortened(_holding(hit), _holds_words(hit))) for hit in evidence.current]


def earlier_quotations(evidence: Evidence) -> list[Quoted]:
    """What is quoted of each memory that held before: the sentence that answered."""
    return [Quoted(hit, shortened(hit.meant, _holds_words(hit))) for hit in evidence.earlier]


def answer_in_short(evidence: Evidence, question: str, phrases: Phrases, *, words_from: float) -> str:
    """The words that answer, as a sentence; empty where the quotation says it better.

    That is so where it is not sure which words answer, or that the date of the telling does, where they are in the
    question already, as in "do I have a dog?", where they are nearly all of the quotation, and where it must be said
    that what they state is in doubt.

    Args:
        evidence: What answers.
        question: The question, with its references resolved.
        phrases: The language.
        words_from: The probability from which the words of a memory count as sure.
    """
    hits = evidence.current
    if any(fact.standing is Standing.DOUBTFUL for part in quotations(evidence) for fact in part.stated):
        return ""
    told = [_sure_words(hit, question, phrases, words_from=words_from) for hit in hits]
    if None in told:
        return ""
    values = list(dict.fromkeys(filter(None, told)))
    if not values and len(hits) == 1 and hits[0].words == "" and evidence.confidence >= words_from:
        values = [write_day(hits[0].created_at, phrases)]
    asked = normalise(question)
    if not values or all(normalise(value) in asked for value in values):
        return ""
    if len(values) == len(hits) == 1 and normalise(values[0]) == normalise(hits[0].meant.strip(_ENDS)):
        return ""
    phrases = _punctuation_of(values, phrases)
    answer = listed(values, phrases)
    return phrases.in_short.format(answer=answer) if len(answer) <= _MAX_WORDS_CHARACTERS else ""


def _punctuation_of(values: Sequence[str], phrases: Phrases) -> Phrases:
    """The language whose punctuation words take: theirs, where all of them are words of another than the reply."""
    if phrases is ENGLISH:
        return phrases_for(values) if all(map(has_han, values)) else phrases
    are_latin = all(_LATIN_WORDS.fullmatch(value) for value in values)
    return ENGLISH if are_latin else phrases


def name_earlier(evidence: Evidence, phrases: Phrases) -> str:
    """What was said of it before, as older; empty where nothing was."""
    return "\n".join(
        phrases.earlier.format(date=_date(part.hit), quote=phrases.nested(with_references_beside(part.text, part.hit)))
        for part in earlier_quotations(evidence)
    )


def with_references_beside(quote: str, hit: Hit) -> str:
    """A quotation in the words of who said it.

    Args:
        quote: A part of what the memory means.
        hit: The memory.

    Returns:
        The words that were said, each reference followed by what it means; the quotation as it is where it is no single
        part of the memory, and where it means an earlier statement, corrected.
    """
    said, meant = _TOKEN.findall(hit.text), _TOKEN.findall(hit.meant)
    matcher = SequenceMatcher(None, said, meant, autojunk=False)
    common = [word for block in matcher.get_matching_blocks() for word in said[block.a : block.a + block.size]]
    start = hit.meant.find(quote)
    end = start + len(quote)
    if hit.meant == hit.text or start < 0 or _count_words(common) < _LEAST_IN_COMMON * _count_words(said):
        return quote
    brackets = "（{}）" if has_han(hit.text) else "[{}]"
    pieces: list[str] = []
    at = 0  # characters of `hit.meant` before the piece
    for operation, said_from, said_to, meant_from, meant_to in matcher.get_opcodes():
        words, meaning = "".join(said[said_from:said_to]), "".join(meant[meant_from:meant_to])
        if operation == "equal":
            pieces.append(meaning[max(0, start - at) : max(0, end - at)])
        elif start <= at < end or at == end == len(hit.meant):
            pieces.append(_beside(words, meaning, brackets))
        at += len(meaning)
    return "".join(pieces).strip()


def shortened(text: str, relevance: Callable[[str], int]) -> str:
    """A short text as it is; of a long one, the most relevant sentence."""
    if len(text) <= _MAX_QUOTE_CHARACTERS:
        return text.strip()
    sentences: list[str] = [sentence.strip() for sentence in _SENTENCE.findall(text) if sentence.strip()]
    best = max(sentences, key=relevance)
    return best if len(best) <= _MAX_QUOTE_CHARACTERS else best[:_MAX_QUOTE_CHARACTERS] + "…"


def _holding(hit: Hit) -> str:
    """What a memory states without what is out of date, and without what is in doubt beside the answer."""
    return without_doubtful(valid_part(hit.meant, hit.validity), hit.validity, _holds_words(hit))


def _holds_words(hit: Hit) -> Callable[[str], int]:
    return lambda text: int(bool(hit.words) and str(hit.words) in text)


def _sure_words(hit: Hit, question: str, phrases: Phrases, *, words_from: float) -> str | None:
    """The words of a memory that answer; of one whose words are not sure the date asked for, or None."""
    if hit.parts.get("words", 1.0) >= words_from:
        return date_of_words(hit, question, phrases).strip(_ENDS)
    if not asks_date(question):
        return None
    return date_of_words(hit.model_copy(update={"words": None}), question, phrases).strip(_ENDS) or None


def _date(hit: Hit) -> str:
    return hit.created_at.date().isoformat()


def _beside(words: str, meaning: str, brackets: str) -> str:
    """What was said, with its meaning in brackets; spaces around the meaning stay outside."""
    core = meaning.strip()
    if not core:
        return words
    before, after = meaning[: len(meaning) - len(meaning.lstrip())], meaning[len(meaning.rstrip()) :]
    if not words:
        return f"{before}{brackets.format(core)}{after}"
    space = " " if brackets.startswith("[") else ""
    return f"{words.rstrip()}{space}{brackets.format(core)}{words[len(words.rstrip()) :]}"


def _count_words(tokens: Sequence[str]) -> int:
    return sum(not token.isspace() for token in tokens)
