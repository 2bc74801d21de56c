"""Splits text into sentences and tells which are questions."""

import re
from bisect import bisect_right
from dataclasses import dataclass

_END = re.compile(r"[。！？!?；;\n…]+[」』”\")）]?|\.(?=\s|$)")
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
    """The sentences of a folded text, in order and without gaps."""

    def __init__(self, folded: str) -> None:
        self._all: list[Sentence] = []
        start = 0
        for end in [*(match.end() for match in _END.finditer(folded)), len(folded)]:
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
