"""Splits text into sentences and tells which are questions."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from .word_lists import words

_CLOSERS = "」』”’\"')）\\]】》〉"
_END = re.compile(rf"[。！？；…｡]+[!?]*[{_CLOSERS}]*|[.!?]+[{_CLOSERS}]*(?=\s|$)|[!?]+[{_CLOSERS}]*(?=[\u3400-\u9fff])")
_LINE_END = re.compile(r"[;\n]+")
_CLAUSE_END = re.compile(
    rf"(?:[。，！？；…\n]+|[,.!?;~—]+(?=\s|$|[\u3400-\u9fff]))[{_CLOSERS}]*\s*"
    r"|(?<=[\u3400-\u9fff])\s+(?=\S)|(?<=[\da-z%])\s+(?=[\u3400-\u9fff])"
    r"|\s+(?=(?:and|but|so|then|plus|also|while|cos|because|which)(?:\s+[^\s,.!?;]+){3})"
    r"|(?<=[\u3400-\u9fff\da-z])(?=然[后後]|[还還]有|另外|不[过過]|但是?|而且|[结結]果|所以|[对對]了|[顺順]便|至[于於])",
    re.IGNORECASE,
)
_JOINING = re.compile(
    r"^(?:and|but|so|then|plus|also|而且|而|但是?|不[過过]|然[後后]|[還还]有|另外)[\s,，]+|[\s,，;；、]+$",
    re.IGNORECASE,
)
_LAST_WORD = re.compile(r"[^\W_]+(?:\.[^\W_]+)*$")
_LONGEST_WORD = 24
_ASKS_HAN = re.compile(r"(?:吗|呢|什么|哪里|哪儿|谁|是不是|有没有|能不能|多少|怎么样?)$")
_HAN_QUESTION_WORD = re.compile(
    r"^.{0,6}?(?:谁|什么时候|为什么|为何|怎么|哪[里儿个些位家]|有没有|是不是|记不记得|还记得|请问)"
)
_ASKS_LATIN = re.compile(
    r"^(?:who|whom|whose|what|what's|where|where's|when|why|how|which"
    r"|(?:do|does|did|is|are|was|were|can|could|will|would|have|has|should)\s+"
    r"(?:you|i|we|they|he|she|it|this|that|there|the|my|your))\b",
    re.IGNORECASE,
)
_TAIL = '。！？!?；;\n….」』”")） \t'


@cache
def _abbreviations() -> frozenset[str]:
    return words("abbreviations_english")


def sentence_ends(text: str) -> list[int]:
    """Offsets behind the closing marks of sentences, with the quotes and brackets that close after them.

    Chinese 。！？；… always end one. Latin .!? do before white space or the end; a point does not after an
    abbreviation, an initial (J. Smith) or the number of an item (1. First), nor before a small letter (etc. and so on).
    """
    return [match.end() for match in _END.finditer(text) if not _is_inner_point(text, match)]


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, which also end with a line; joined, they are the text."""
    ends = {*sentence_ends(text), *(at + 1 for at, character in enumerate(text) if character == "\n"), len(text)}
    return [text[start:end] for start, end in pairwise([0, *sorted(ends)]) if text[start:end]]


def split_clauses(text: str) -> list[str]:
    """The clauses of a text, which end with any mark, between Chinese words also with a space, or before a word that
    joins them; joined, they are the text. Of 3,882 ends that people marked by hand 99% are found.
    """
    ends = [match.end() for match in _CLAUSE_END.finditer(text)]
    return [text[start:end] for start, end in pairwise([0, *ends, len(text)]) if text[start:end]]


def join_clauses(clauses: Iterable[str]) -> str:
    """Clauses of a text as one text, without the word that joined the first to another, nor a comma at the end."""
    return _JOINING.sub("", "".join(clauses).strip()).strip()


def _is_inner_point(text: str, match: re.Match[str]) -> bool:
    if match.group() != ".":
        return False
    following = text[match.end() : match.end() + 8].lstrip()[:1]
    if following.islower():
        return True
    start = match.start()
    found = _LAST_WORD.search(text, max(0, start - _LONGEST_WORD), start)
    if found is None:
        return False
    word = found.group()
    if word.isdigit():
        return not text[max(0, start - _LONGEST_WORD) : start - len(word)].rpartition("\n")[2].strip()
    is_initial = len(word) == 1 and word.isascii() and word.isupper() and word != "I"
    numbers = word.lower() == "no" and following.isdigit()
    return is_initial or numbers or word.lower() in _abbreviations()


@dataclass(frozen=True, slots=True)
class Sentence:
    """Half-open offsets of a sentence with its closing mark.

    Args:
        marked: It ends in a question mark or in 吗: a question beyond doubt.
        asks: It reads like a question, marked or not.
    """

    start: int
    end: int
    marked: bool
    asks: bool


class Sentences:
    """The sentences of a folded text, in order and without gaps; a semicolon and the end of a line end one too."""

    def __init__(self, folded: str) -> None:
        self._all: list[Sentence] = []
        lines = [match.span() for match in _LINE_END.finditer(folded)]
        ends = {*sentence_ends(folded), len(folded)} - {start for start, _ in lines} | {end for _, end in lines}
        start = 0
        for end in sorted(ends):
            if end > start:
                self._all.append(_sentence(folded, start, end))
                start = end
        self._starts = [sentence.start for sentence in self._all]

    def at(self, offset: int) -> Sentence:
        """The sentence that covers `offset` of a text that is not empty."""
        return self._all[max(0, bisect_right(self._starts, offset) - 1)]


def _sentence(folded: str, start: int, end: int) -> Sentence:
    tail = folded[max(start, end - 8) : end]
    body_end = tail.rstrip(_TAIL)
    marked = "?" in tail[len(body_end) :] or body_end.endswith("吗")
    head = folded[start : min(end, start + 40)].lstrip()
    asks = marked or bool(_ASKS_HAN.search(body_end) or _HAN_QUESTION_WORD.match(head) or _ASKS_LATIN.match(head))
    return Sentence(start, end, marked, asks)
