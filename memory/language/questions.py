"""Whether a text asks something, in Chinese and English, and which questions one query holds."""

import re

from ..values.text import to_simplified
from .keywords import KeywordAnalyzer

MAX_QUESTIONS = 3
"""Questions of one query that are searched for besides the whole; the first ones."""
_MIN_TERMS = 2
_ENDS = re.compile(r"[。？！?!；;\n]+")
_JOINED = re.compile(r"^[\s,，、]*(?:(?:另外|还有|還有|此外|以及|and|also)[\s,，]*)?", re.IGNORECASE)

_MARK = re.compile(r"[?？]\s*[\"'」』”)）]*\s*$")
_CHINESE = re.compile(
    r"(吗|么|呢)\s*[。!！~～]*\s*$|什么|甚么|怎么|怎样|如何|为何|为什么|哪(?!怕)|谁|几(?:点|个|号|时|天|次|位|月|年)"
    r"|多少|多久|多大|是不是|有没有|能不能|会不会|可不可以|要不要|还记得"
)
_ENGLISH = re.compile(
    r"^\s*(?:(?:and|so|but|ok|okay|hey|hi|well)[,\s]+)*"
    r"(?:what|when|where|who|whom|whose|which|why|how|is|are|was|were|do|does|did|can|could|will|would|should|has|have)\b",
    re.IGNORECASE,
)


def is_question(text: str) -> bool:
    """Whether the text asks: by its mark, else by interrogative words (Chinese) or word order (English)."""
    return bool(_MARK.search(text) or _CHINESE.search(to_simplified(text)) or _ENGLISH.match(text))


def questions_of(query: str, analyzer: KeywordAnalyzer) -> tuple[str, ...]:
    """The query, and where it has several sentences that say something, each of them: two questions asked in one
    breath have one vector that lies near neither answer.
    """
    sentences = [_JOINED.sub("", sentence).strip() for sentence in _ENDS.split(query)]
    telling = [sentence for sentence in sentences if len(analyzer.content_terms(sentence)) >= _MIN_TERMS]
    return (query, *telling[:MAX_QUESTIONS]) if len(telling) > 1 else (query,)
