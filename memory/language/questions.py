"""Whether a text asks something, in Chinese and English, and which questions one query holds."""

import re

from ..values.text import fold_lower, to_simplified
from .keywords import KeywordAnalyzer

MAX_QUESTIONS = 3
"""Questions of one query that are searched for besides the whole; the first ones."""
_MIN_TERMS = 2
_ENDS = re.compile(r"[。？！?!；;\n]+")
_JOINED = re.compile(r"^[\s,，、]*(?:(?:另外|还有|還有|此外|以及|and|also)[\s,，]*)?", re.IGNORECASE)

_MARK = re.compile(r"[?？]\s*[\"'」』”)）]*\s*$")
_CHINESE = re.compile(
    r"(吗|么|呢)\s*[。!！~～]*\s*$|什么|甚么|怎么|怎样|如何|为何|为什么|哪(?!怕)|谁|几(?:点|个|号|时|天|次|位|月|年|岁|楼|路)|(?:礼拜|星期|周)几"
    r"|多少|多久|多大|是不是|有没有|能不能|会不会|可不可以|要不要|还记得"
    r"|(?<!没)啥(?!都|也)|了没有?\s*[。!！~～]*\s*$"
)
_SENTENCES = re.compile(r"[^。！？!?\n]+[。！？!?\n]*")
_CLAUSES = re.compile(r"[，,；;：:。.]\s*\S")
_WHATEVER = re.compile(r"(?:什么|甚么|怎么|怎样|哪|谁|几|多少|啥)[^，。]{0,6}?[都也]")
"""An interrogative that asks nothing: 什么都能吃, 谁也不知道."""
_ENGLISH = re.compile(
    r"^\s*(?:(?:and|so|but|ok|okay|hey|hi|well)[,\s]+)*"
    r"(?:what|when|where|who|whom|whose|which|why|how|(?:what|when|where|who|why|how)s"
    r"|is|are|was|were|do|does|did|can|could|will|would|should|has|have)\b",
    re.IGNORECASE,
)
_ENGLISH_INVERTED = re.compile(
    r"^\s*(?:what|when|where|who|whom|whose|which|why|how)"
    r"(?:['’](?:s|d|re|ll)|s\b| (?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|am)\b)"
    r"|^\s*(?:is|are|am|was|were|do|does|did|can|could|will|would|should|has|have)(?:n['’]t)?"
    r" (?:i|you|we|they|s?he)\b|^\s*(?:is|does|was) (?:my|our|the)\b",
    re.IGNORECASE,
)
"""A question that needs no mark: "when I was five" and "can't eat nuts" are none."""
_TAG = re.compile(
    r"^[\s,，]*(?:(?:对|是|没错)[吗吧么]?|(?:对|是)不(?:对|是)|right|correct|yes"
    r"|(?:is|are|am|was|were|do|does|did|has|have|will|would)n['’]t (?:i|you|it|we|they|s?he))[\s?？]*$",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"几月几|几[号日]|哪一?[天日]|日期|几天[以之]?前|多久[以之]?前|(?:什么时候|何时|几时).*[的了过]$"
    r"|\b(?:what|which|exact)(?: exact)? da(?:te|y)\b|\bthe date\b|\bwhen (?:did|was|were|had)\b"
    r"|\bhow (?:long|many days) ago\b"
)
_LIES_AHEAD = re.compile(r"\b(?:when is|when's|when are|will|going to)\b|要|会|将")
_LIES_BEHIND = re.compile(r"\b(?:did|was|were|had|ago)\b|[的了过][ ?!.。~\n]*$|[以之]前")
_FIRST_PERSON = re.compile(r"我|\b(?:i|me|my|mine|myself|we|us|our|ours)\b", re.IGNORECASE)
_THIRD_PERSON = re.compile(r"[他她它牠祂]|\b(?:he|him|his|she|hers?|it|its|they|them|their|theirs)\b", re.IGNORECASE)
_SECOND_PERSON = re.compile(r"[你您妳]|\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
_FOR_ME = re.compile(
    r"[请帮替给跟为]我们?|(?:告诉|提醒)我们?"
    r"|\b(?:for|tell|remind|give|show|get|find|book|order|write|send|make) (?:me|us)\b"
)
"""The one who asks, as the one for whom something is to be done."""


def is_question(text: str) -> bool:
    """Whether the text asks: by its mark, else by interrogative words (Chinese) or word order (English)."""
    return bool(_MARK.search(text) or _CHINESE.search(to_simplified(text)) or _ENGLISH.match(text))


def only_asks(text: str) -> bool:
    """Whether the text asks and says nothing besides: of several sentences each has its mark.

    A text with clauses and no mark may state something by interrogative words: 什麼都能吃，只有蝦不行.
    """
    sentences: list[str] = [sentence for sentence in _SENTENCES.findall(text) if sentence.strip(" \"'」』”)）")]
    if any(_MARK.search(sentence) for sentence in sentences):
        return all(_MARK.search(sentence) for sentence in sentences)
    return is_question(text) and not _CLAUSES.search(text.strip())


def asks_one_thing(text: str) -> bool:
    """Whether the text is one question without a further clause: what it names, it takes for granted.

    「我女兒五歲，可以吃蜂蜜嗎？」 states something besides; "When is the hall free?" and 我血壓吃的哪個藥 do not.
    """
    stripped = text.strip()
    if len(_SENTENCES.findall(stripped)) != 1 or _CLAUSES.search(stripped):
        return False
    simplified = to_simplified(stripped)
    is_chinese = bool(_CHINESE.search(simplified)) and not _WHATEVER.search(simplified)
    return is_chinese or bool(_MARK.search(stripped) or _ENGLISH_INVERTED.match(stripped))


def is_tag(text: str) -> bool:
    """Whether the text only asks whether what stands before it is so: 對嗎, "isn't it?"."""
    return bool(_TAG.match(to_simplified(text)))


def asks_date(question: str) -> bool:
    """Whether a question asks for a date, so that a weekday alone does not answer it."""
    return bool(_DATE.search(fold_lower(question).strip(" ?!.。~\n")))


def asks_ahead(question: str) -> bool:
    """Whether a question asks about what lies ahead."""
    return bool(_LIES_AHEAD.search(fold_lower(question)))


def asks_back(question: str) -> bool:
    """Whether a question asks about what has been."""
    return bool(_LIES_BEHIND.search(fold_lower(question)))


def questions_of(query: str, analyzer: KeywordAnalyzer) -> tuple[str, ...]:
    """The query, and where it has several sentences that say something, each of them: two questions asked in one
    breath have one vector that lies near neither answer.
    """
    sentences = [_JOINED.sub("", sentence).strip() for sentence in _ENDS.split(query)]
    telling = [sentence for sentence in sentences if len(analyzer.content_terms(sentence)) >= _MIN_TERMS]
    return (query, *telling[:MAX_QUESTIONS]) if len(telling) > 1 else (query,)


def several_asked(query: str, analyzer: KeywordAnalyzer) -> tuple[str, ...]:
    """Each of the questions of a query that asks several; empty where it asks one and says something besides."""
    told = questions_of(query, analyzer)[1:]
    asked = [part for part in told if is_question(part) or _MARK.match(query.partition(part)[2][:2])]
    return tuple(asked) if len(asked) > 1 else ()


def refers_back(text: str) -> bool:
    """Whether a text has a pronoun of the third person, so that it may mean what stands before it."""
    return bool(_THIRD_PERSON.search(text))


def speaks_of_self(text: str) -> bool:
    """Whether the text speaks of who says it."""
    return bool(_FIRST_PERSON.search(text))


def speaks_of_hearer(text: str) -> bool:
    """Whether the text speaks of who is addressed."""
    return bool(_SECOND_PERSON.search(text))


def speaks_of_own(text: str) -> bool:
    """Whether a request speaks of who makes it, otherwise than as the one for whom something is to be done."""
    return speaks_of_self(_FOR_ME.sub(" ", fold_lower(text)))
