"""Finds noun phrases that later references can mean: a red car, 那台洗衣機, 我的手機."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ...language.han_tokens import Word, cut
from ...language.han_words import SURNAMES
from ...values.mentions import EntitySubtype
from ...values.text import fold_lower
from .chinese import head_noun
from .english import singular
from .lexicon import ATTRIBUTES, CLASSIFIERS, NOUNS, OF_THINGS, TIME_WORDS, VAGUE, word_list
from .references import Number


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase; `topic` marks the topic of the sentence (你知道X嗎, X怎麼樣)."""

    start: int
    end: int
    subtype: EntitySubtype | None = None
    person: bool | None = None
    number: Number = Number.SINGULAR
    topic: bool = False
    named: bool = False


_NOMINAL = frozenset({"n", "nr", "nrt", "nrfg", "ns", "nt", "nz", "eng", "j", "vn", "ng", "l", "i"})
_HEADS = _NOMINAL - {"l", "i"}
_PREFIX = frozenset({"b", "a", "m", "f", "s", "k", "zg", "h"})
_SUBTYPE_OF_TAG = {"ns": EntitySubtype.PLACE, "nt": EntitySubtype.ORGANISATION}
_FLOOR = re.compile(r"(?:地下)?[\d一二三四五六七八九十百零]+(?:楼|层|号楼|室|栋|号房|排|区|馆)")
_PERSONAL = "我你您他她它咱"  # first characters of 我會, which jieba tags as a noun, and of 我哥, which is one
_NAMING = frozenset({"nr", "nrt", "nrfg", "ns", "nt", "nz", "eng"})
_SOUNDS = frozenset("恩嗯啊哦噢喔哈呵嘻嘿呜哎唉额诶呀哇")
_OWNED = re.compile(r"(?:[我你他她它您]们?的|[把将])$")
_JOINING = frozenset("和与跟、")
_JOINED = frozenset({"eng", "nt", "ns", "nz"})
_LISTED_NAME = "listed nz"  # 英語, 可口可樂: never persons, whose listed names have another tag
_UNTAGGED = "zg"  # jieba's tag of single characters of unknown part of speech, among them 車
_CHAT_WORD = 2  # characters up to which a Latin word is mostly slang
_PERSON_TAGS = frozenset({"nr", "nrt", "nrfg"})

# Sentences with one topic: the object of knowing, liking, having seen, or the subject of a short question.
_TOPIC_VERB = (
    "要聊|想聊|聊一聊|知道|知不知道|认识|认不认识|听说过|听过|听说|看过|看了|读过|用过|吃过|玩过|去过|喜欢|"
    "喜不喜欢|爱看|爱听|了解|记得|觉得|介绍一下|介绍下|介绍|"
    "推荐|说说|聊聊|谈谈|讲讲|搜索|搜一下|查一下|梦到|梦见|想看|想听|想吃|想去|想买|买了|最爱|爱吃|爱喝|讨厌|崇拜|"
    "看看|会唱|会不会|会玩|在看|在听|在玩|"
    "常看|常听"
)
_TAIL = (
    r"(?:怎么样|怎样|如何|咋样|好不好\w?|好[看听吃玩用笑喝]不好?\w?|好[看听吃玩用笑喝]|是谁\w?|是什么\w*|是啥\w*|"
    r"在哪\w*|多少\w*|漂亮|帅不帅|帅|可爱|厉害|有名|"
    r"有什么\w*|有多\w*|有哪些\w*|是哪\w*|什么时候\w*|是不是\w*|好)?"
)
_PARTICLE = r"(?:吗|么|嘛|吧|呢|啊|呀|哦|不|没有|没|了)*"
_TOPIC_OBJECT = re.compile(
    rf"^(?:那|请问|请)?(?:你们|你|您|我们|我)?(?:有没有|是不是|也|都|最|很|还|真的|超级|非常|超|好|正在|"
    rf"想)*(?:{_TOPIC_VERB})\s*(?P<topic>\S{{2,14}}?)\s*{_TAIL}{_PARTICLE}[？?。！!]?$"
)
_TOPIC_SUBJECT = re.compile(
    rf"^(?P<topic>\S{{2,14}}?)(?:真的|真|很|太|超|好|最|也|都|挺|可|又|不)*"
    rf"(?:的?(?:{'|'.join(sorted(OF_THINGS))}))?(?:怎么样|怎样|如何|咋样|好[看听吃玩用笑喝]\w{{0,2}}|好不好\w?|"
    rf"是谁|是什么\w*|是啥\w*|是[做干]什么\w*|在哪\w*|多少钱|漂亮|帅|可爱|厉害|有名|不错|贵){_PARTICLE}[？?。！!]?$"
)
_TOPIC_HEARD = re.compile(
    r"^(?P<topic>\S{2,12}?)(?:你们|你|您)?(?:有没有|也|都)*(?:看过|听过|知道|知不知道|认识|听说过|用过|吃过|去过|"
    r"玩过|读过)(?:吗|么|吧|没|没有|不)[？?]?$"
)
_TRAILING = frozenset({"t", "d", "f"})  # 宏康最近如何: the topic ends before 最近
_PREDICATIVE = frozenset({"v", "d", "c", "p"})
_ASKED = re.compile(r"[吗么不][？?]?$")
_ASKED_LENGTH = 6  # 你知道X嗎: a name that jieba does not know, when it is this short
_NO_TOPIC = re.compile(
    r"[我你您他她它这那谁啥哪咱]|什么|怎么|为什么|多少|[，,。！？!?；;:：]|^(?:别|不|没|很|都|也|最|会|能|要|想|去|"
    r"来|在|给|把|一下|一起|过)"
)
_TOPIC_EDGE = frozenset({"v", "d", "p", "c", "r", "uj", "ul", "y", "x", "m", "u", "ud", "uz", "t"})


def _chinese_topic(folded: str) -> Phrase | None:
    for pattern in (_TOPIC_HEARD, _TOPIC_OBJECT, _TOPIC_SUBJECT):
        match = pattern.match(folded)
        if not match or _NO_TOPIC.search(match["topic"]) or match["topic"] in VAGUE:
            continue
        start, end = match.span("topic")
        words = cut(match["topic"])
        while len(words) > 1 and words[-1].tag in _TRAILING:
            words = words[:-1]
            end = start + words[-1].end
        asked = pattern is _TOPIC_OBJECT and len(match["topic"]) <= _ASKED_LENGTH and _ASKED.search(folded)
        if asked:
            return Phrase(start, end, *_titled(folded[start:end]), topic=True)
        if "的" in match["topic"]:
            continue  # 喜歡華晨宇的歌: the topic may be either of the two things
        if words and (words[0].tag in _TOPIC_EDGE or words[-1].tag in _TOPIC_EDGE - {"v", "m", "t"}):
            continue
        if pattern is not _TOPIC_HEARD and any(word.tag in _PREDICATIVE for word in words):
            continue
        if words and not any(word.tag in _HEADS for word in words) and len(words) > 2:
            continue
        return Phrase(start, end, *_typed(folded[start:end], words[-1].tag if words else "eng"), topic=True)
    return None


def _titled(text: str) -> tuple[EntitySubtype | None, bool | None]:
    """As `_typed`, but a head noun of one character gives no type: 擺渡人 may be a film."""
    known = head_noun(text)
    return (None, None) if known and len(known[0]) == 1 else _typed(text, "eng")


def _typed(text: str, tag: str) -> tuple[EntitySubtype | None, bool | None]:
    """Subtype, and whether it is a person, by the head noun, else by jieba's tag."""
    if known := head_noun(text):
        subtypes = known[1].subtypes
        return (next(iter(subtypes)) if len(subtypes) == 1 else None), subtypes == {EntitySubtype.PERSON}
    if _FLOOR.fullmatch(text):
        return EntitySubtype.PLACE, False
    if tag in _PERSON_TAGS:
        return None, None  # jieba takes many things for names of persons: allowed, not certain
    return _SUBTYPE_OF_TAG.get(tag), False if tag == _LISTED_NAME and text[0] not in SURNAMES else None


def _coordinated_name(words: Sequence[Word], place: int) -> bool:
    """Whether an unlisted word is coordinated with a name: 宏康 in 宏康和 IBM."""
    word = words[place]
    if word.listed or not 2 <= len(word.text) <= 4 or word.text.isascii() or word.text[0] in _PERSONAL:
        return False
    for step in (1, -1):
        beside = [
            neighbour for neighbour in words[place + step : place + 4 * step : step] if not neighbour.text.isspace()
        ]
        if len(beside) > 1 and beside[0].text in _JOINING and beside[1].tag in _JOINED:
            return True
    return False


def _chinese(folded: str) -> Iterator[Phrase]:
    topic = _chinese_topic(folded)
    if topic:
        yield topic
    run: list[Word] = []

    def flush() -> Iterator[Phrase]:
        while run and run[-1].tag not in _HEADS:
            run.pop()
        if not run:
            return
        start = run[0].start
        if folded[start - 1 : start] in ("这", "那") and folded[start] in CLASSIFIERS and run[-1].end - start > 1:
            start += 1  # jieba cuts 首歌 as one word in 這首歌
        text = folded[start : run[-1].end]
        counted = folded[start - 1 : start] in CLASSIFIERS and start > 1  # 一隻貓
        owned = text in NOUNS and _OWNED.search(folded[max(0, start - 3) : start])  # 我的車
        if (len(text) < 2 and not counted and not owned) or text in VAGUE or run[-1].text in VAGUE:
            return
        if text in ATTRIBUTES and text not in NOUNS:
            return
        last = run[-1]
        subtype, person = _typed(text, _LISTED_NAME if last.tag == "nz" and last.listed else last.tag)
        yield Phrase(
            start,
            run[-1].end,
            subtype,
            person,
            named=any(word.tag in _NAMING or not word.listed for word in run) and not _FLOOR.fullmatch(text),
        )

    words = cut(folded)
    for place, word in enumerate(words):
        if word.tag == _UNTAGGED and word.text in NOUNS:
            word = replace(word, tag="n")
        adjacent = not run or word.start == run[-1].end
        latin = word.text.isascii() and (word.text in _STOP or len(word.text) == 1)
        nominal = _coordinated_name(words, place) or (
            not latin
            and word.tag in _NOMINAL
            and word.text not in VAGUE
            and (word.text[0] not in _PERSONAL or head_noun(word.text) is not None)
            and (word.tag not in ("l", "i") or bool(run))
        )
        if run and (not adjacent or not nominal):
            yield from flush()
            run.clear()
        if nominal or (word.tag in _PREFIX and not run and word.tag == "b"):
            run.append(replace(word, tag="nz") if _coordinated_name(words, place) else word)
    yield from flush()


_DETERMINER = "a|an|another|the|my|your|our|some|this|that|these|those|one|two|three|new"
_STOP = word_list("phrase_ends_english")
_ENGLISH = re.compile(rf"\b(?P<determiner>{_DETERMINER})(?=(?P<rest>(?: [a-z0-9][a-z0-9'-]*){{1,4}}))")
_NO_HEAD = TIME_WORDS | word_list("vague_nouns_english") | (ATTRIBUTES - set(NOUNS))


def _english(folded: str) -> Iterator[Phrase]:
    for match in _ENGLISH.finditer(folded):
        words: list[str] = []
        ends: list[int] = []
        for part in re.finditer(r" (\S+)", match["rest"]):
            word = part[1].split("'")[0]
            if word in _STOP or part[1] in _STOP:
                break
            words.append(word)
            ends.append(match.start("rest") + part.start(1) + len(word))
            if word != part[1]:
                break
        while words and len(words[-1]) > 4 and words[-1].endswith(("ed", "ing", "ly")):
            words.pop()
        if not words or words[-1] in _NO_HEAD or any(word in TIME_WORDS for word in words):
            continue
        base, number = singular(words[-1])
        facts = NOUNS.get(base)
        if not facts and number is Number.SINGULAR and re.search(r"[^su]s$", base):
            number = Number.PLURAL
        subtypes = facts.subtypes if facts else frozenset()
        subtype = next(iter(subtypes)) if len(subtypes) == 1 else None
        position = ends[len(words) - 1]
        yield Phrase(match.start(), position, subtype, (subtype is EntitySubtype.PERSON) if facts else None, number)


def _is_noise(written: str, *, topic: bool) -> bool:
    """Whether it is an interjection (恩恩) or a short lower-case word of chat slang (lz)."""
    if set(written) <= _SOUNDS:
        return True
    return not topic and written.isascii() and written.islower() and len(written) <= _CHAT_WORD


@lru_cache(maxsize=512)
def noun_phrases(text: str) -> tuple[Phrase, ...]:
    """The noun phrases of a text, in no order; they may overlap the extractor's mentions."""
    folded = fold_lower(text)
    found = (*_chinese(folded), *_english(folded))
    return tuple(phrase for phrase in found if not _is_noise(text[phrase.start : phrase.end], topic=phrase.topic))
