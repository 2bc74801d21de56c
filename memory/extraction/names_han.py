"""Chinese names of people, places and organisations: jieba's tags, checked by lists, and suffix rules."""

import re
from collections.abc import Iterator
from functools import cache

from ..text import is_han
from . import han_words as known
from .candidates import Candidate, Layer
from .han_tokens import Word, Words
from .mentions import EntitySubtype

_ORGANISATION = EntitySubtype.ORGANISATION
_PLACE = EntitySubtype.PLACE
_PERSON = EntitySubtype.PERSON
_EVENT = EntitySubtype.EVENT
_WELL_KNOWN = (
    (known.PLACES, _PLACE),
    (known.ORGANISATIONS, _ORGANISATION),
    (known.EVENTS, _EVENT),
    (known.PRODUCTS, EntitySubtype.PRODUCT),
    (known.WORKS, EntitySubtype.WORK),
)

_ORGANISATION_SUFFIXES = tuple(sorted(known.ORGANISATION_SUFFIXES, key=len, reverse=True))
_PLACE_SUFFIXES = tuple(sorted(known.PLACE_SUFFIXES, key=len, reverse=True))
_TITLES = tuple(sorted(known.PERSON_TITLES, key=len, reverse=True))
_FOUNDED = ("国立", "私立", "市立", "县立", "省立", "公立")
_IDIOMS = ("i", "l")
_MOST_WORDS_LEFT = 4
_MOST_CHARACTERS = 24
_INTRODUCED = re.compile(
    r"(?:我|他|她|它|名字|狗|猫|女儿|儿子|朋友|老婆|老公|同事|弟弟|妹妹|哥哥|姐姐|女友|男友|宝宝|宠物|老板|经理|室友|同学|牠)(?:名)?(?:叫做?|叫作|是叫)"
    r"([\u4e00-\u9fff]{2,4})(?=[，。！？、；,.!?;\s]|\Z)"
)
_ANIMALS = "狗猫它牠宠"


def find_han_names(folded: str, words: Words) -> Iterator[Candidate]:
    """Finds Chinese names in a folded text.

    jieba's tags alone are wrong more often than right on names (文明 and 高達 are people to it), so a tagged word
    counts only where something else agrees: a surname, characters used for foreign names, a suffix, a list.
    """
    for place, word in enumerate(words):
        if not is_han(word.text[0]):
            continue
        yield from _person(words, place)
        yield from _suffixed(words, place)
        yield from _place(word)
    yield from _listed(folded, words)
    yield from _transliterated(folded, words)
    for match in _INTRODUCED.finditer(folded):
        if match.group(1) not in known.NOT_INTRODUCED and match.group(1)[0] not in "我你他她它什不了着过":
            subtype = None if match.group()[0] in _ANIMALS else _PERSON
            yield Candidate(*match.span(1), Layer.HAN, "han.introduced", 0.8, subtype)


@cache
def _lists() -> tuple[tuple[re.Pattern[str], EntitySubtype], ...]:
    return tuple(
        (re.compile("|".join(sorted(names, key=len, reverse=True))), subtype) for names, subtype in _WELL_KNOWN
    )


def _suffix_of(text: str, suffixes: tuple[str, ...]) -> str:
    """The longest of the suffixes (given longest first) that the text ends in, or nothing."""
    return next((one for one in suffixes if text.endswith(one)), "") if text.endswith(suffixes) else ""


def _listed(folded: str, words: Words) -> Iterator[Candidate]:
    """Well-known names, also where jieba cuts them in two (台積·電)."""
    for pattern, subtype in _lists():
        for match in pattern.finditer(folded):
            if not words.cuts_word(*match.span()):
                yield Candidate(*match.span(), Layer.HAN, "han.listed", 0.85, subtype)


def _person(words: Words, place: int) -> Iterator[Candidate]:
    word = words[place]
    following = words[place + 1] if place + 1 < len(words) else None
    end = following.end if following and following.text in known.PERSON_TITLES else 0
    own_title = _suffix_of(word.text, _TITLES)
    stem = word.text[: len(word.text) - len(own_title)]
    if own_title and stem and _is_full_or_short_name(stem):
        yield _titled(word.start, word.start + len(stem), word.end)
    elif end and _is_full_or_short_name(word.text):
        yield _titled(word.start, word.end, end)
    if word.text in known.STOP_NAMES or word.text in known.PLACES or word.text in known.ORGANISATIONS:
        return
    if following and _is_surname(word.text) and following.tag.startswith("nr") and _is_given_name(following.text):
        yield Candidate(word.start, following.end, Layer.HAN, "han.person", 0.8, _PERSON)
    elif word.tag.startswith("nr") and len(word.text) > 1:
        if len(word.text) == 3 and following and word.text[-1] + following.text[0] in known.TIME_WORDS:
            yield Candidate(word.start, word.end - 1, Layer.HAN, "han.person", 0.7, _PERSON)  # 張偉·明天, not 張偉明·天
        elif _is_full_name(word.text):
            doubtful = word.listed and len(word.text) == 2
            yield Candidate(word.start, word.end, Layer.HAN, "han.person", 0.6 if doubtful else 0.8, _PERSON)
        elif all(character in known.TRANSLITERATION for character in word.text) and len(word.text) > 2:
            yield Candidate(word.start, word.end, Layer.HAN, "han.foreign", 0.65, _PERSON)
        elif word.text[0] in "阿小老" and not word.listed and len(word.text) <= 3:
            yield Candidate(word.start, word.start + 2, Layer.HAN, "han.nickname", 0.65, _PERSON)
        elif not word.listed and len(word.text) == 2:
            yield Candidate(word.start, word.end, Layer.HAN, "han.given_name", 0.45, _PERSON)
    elif len(word.text) == 2 and word.text[0] in "老小阿" and word.text[1] in known.SURNAMES:
        yield Candidate(word.start, word.end, Layer.HAN, "han.nickname", 0.65, _PERSON)
    elif not word.listed and word.tag[:1] in "nxaj" and _is_full_name(word.text) and len(word.text) == 3:
        yield Candidate(word.start, word.end, Layer.HAN, "han.person", 0.55, _PERSON)


def _is_surname(text: str) -> bool:
    return text in known.COMPOUND_SURNAMES or (text in known.SURNAMES and text not in known.FUNCTION_SURNAMES)


def _is_given_name(text: str) -> bool:
    return len(text) <= 2 and text not in known.STOP_NAMES and text not in known.PERSON_TITLES


def _titled(start: int, name_end: int, title_end: int) -> Candidate:
    """A full name stands without its title (陳怡君), a short one with it (王經理): the form that identifies."""
    end = name_end if name_end - start > 2 else title_end
    return Candidate(start, end, Layer.HAN, "han.titled", 0.8, _PERSON)


def _is_full_name(text: str) -> bool:
    if text[:2] in known.COMPOUND_SURNAMES:
        return len(text) in (3, 4)
    return len(text) in (2, 3) and text[0] in known.SURNAMES


def _is_full_or_short_name(text: str) -> bool:
    """A surname, a full name, or a familiar form of one (老張, 小美, 阿明)."""
    return text not in known.STOP_NAMES and (_is_surname(text) or _is_full_name(text))


def _place(word: Word) -> Iterator[Candidate]:
    if word.tag == "ns" and len(word.text) > 2 and word.text not in known.STOP_NAMES and word.text not in known.PLACES:
        suffixed = word.text.endswith(_PLACE_SUFFIXES)
        yield Candidate(word.start, word.end, Layer.HAN, "han.place", 0.75 if suffixed else 0.6, _PLACE)


def _suffixed(words: Words, place: int) -> Iterator[Candidate]:
    """A proper name, up to four words, and a suffix: 台北·車站, 國立·台灣·大學, 竹北·市, 研發·部."""
    word = words[place]
    if word.text.endswith(("部", "部门", "处", "组")) and _department(words, place):
        start = words[place - 1].start if word.text in ("部", "部门", "处", "组") else word.start
        yield Candidate(start, word.end, Layer.HAN, "han.department", 0.7, _ORGANISATION)
        return
    for suffixes, subtype in ((_ORGANISATION_SUFFIXES, _ORGANISATION), (_PLACE_SUFFIXES, _PLACE)):
        suffix = _suffix_of(word.text, suffixes)
        if not suffix or word.text in known.PLACES or word.tag in _IDIOMS:
            continue
        begins = _anchor(words, place, suffix, subtype)
        if begins is not None and word.end - begins <= _MOST_CHARACTERS:
            yield Candidate(begins, word.end, Layer.HAN, f"han.{subtype.value}_suffix", 0.8, subtype)
            return


def _department(words: Words, place: int) -> bool:
    text = words[place].text
    for suffix in ("部门", "部", "处", "组"):
        if text == suffix:
            return place > 0 and words[place - 1].text in known.DEPARTMENTS
        if text.endswith(suffix):
            return text[: -len(suffix)] in known.DEPARTMENTS
    return False


def _anchor(words: Words, place: int, suffix: str, subtype: EntitySubtype) -> int | None:
    """Where the name that ends in this suffix begins: at its leftmost proper word, without a gap."""
    word = words[place]
    start: int | None = None
    if len(word.text) - len(suffix) > 1 and word.text not in known.STOP_NAMES and _is_proper(word, suffix):
        start = word.start
    reach = _MOST_WORDS_LEFT if subtype is _ORGANISATION else 1
    if subtype is _PLACE and start is not None:
        return start
    for back in range(1, min(reach, place) + 1):
        left = words[place - back]
        if (
            (left.listed and left.tag not in known.EXTENDING)
            or not is_han(left.text[0])
            or left.text in ("的", "和", "与", "跟", "在", "是")
        ):
            break
        if _is_anchor(left):
            start = left.start
    if start is not None:
        before = words[words.at(start) - 1] if words.at(start) else None
        start = before.start if before is not None and before.text in _FOUNDED else start
    return start


def _is_proper(word: Word, suffix: str) -> bool:
    """Whether a word holds a name before its suffix: 台灣·大學 does, 電影·院 does not."""
    if word.text[: -len(suffix)] in known.PLACES or word.text[: -len(suffix)] in known.ORGANISATIONS:
        return True
    guessed = not word.listed and (len(suffix) > 1 or len(word.text) == 3)
    return word.tag in ("nt", "ns", "nr", "nz") or guessed


def _is_anchor(word: Word) -> bool:
    if word.text in known.STOP_NAMES or len(word.text) < 2:
        return False
    return word.text in known.PLACES or word.tag in known.PROPER or not word.listed


def _transliterated(folded: str, words: Words) -> Iterator[Candidate]:
    """Foreign names with a middle dot: 約翰·史密斯. Each part is a word, or single characters in a row."""
    dot = folded.find("·")
    done = 0
    while dot >= 0:
        start, end = dot, dot
        while start > max(done, dot - 8) and folded[start - 1] in known.TRANSLITERATION:
            start -= 1
        while end < len(folded) and end - dot < 24 and (folded[end] == "·" or folded[end] in known.TRANSLITERATION):
            end += 1
        while end > dot and folded[end - 1] == "·":
            end -= 1
        if dot and is_han(folded[dot - 1]) and end > dot + 1:
            word = words[words.at(dot - 1)]
            if word.tag.startswith("nr"):
                start = min(start, word.start) if word.start >= done else start
            else:
                head = words[words.at(start)]
                start = head.end if head.start < start and head.end < dot else start
            tail = words[words.at(end - 1)]
            if tail.end > end and tail.tag.startswith("nr"):
                end = tail.end
            if start < dot:
                yield Candidate(start, end, Layer.HAN, "han.foreign", 0.85, _PERSON)
        done = max(end, dot + 1)
        dot = folded.find("·", done)
