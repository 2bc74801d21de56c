"""Finds statements of an alias: 「X 又叫 Y」「X 簡稱 Y」「X（Y）」, "X, also known as Y", "we call it Y"."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..values.text import fold, has_han, is_han, normalise
from ..values.understanding.mentions import EntitySubtype, Mention, MentionLevel
from .assertions import assertions_of
from .junk import is_junk


@dataclass(frozen=True, slots=True)
class AliasClaim:
    """A stated alias of a mention, with its half-open offsets in the text."""

    mention: Mention
    alias: str
    start: int
    end: int


_FIRST, _LAST = 0xE000, 0xF8FF
_E = f"[{chr(_FIRST)}-{chr(_LAST)}]"
_X = rf"(?P<name>{_E})"
_MARKED_HAN = (
    r"(?:又|也|亦|还|另外?|通常|一般|常|习惯|都)\s?(?:被)?(?:叫(?:做|作)?|称(?:为|作|之为)?|名为?|写作|写成)"
    r"|(?:可以)?简称(?:为|是|叫|做)?|俗称(?:为|是)?|别名(?:为|是|叫)?"
    r"|昵称(?:为|是|叫)?|外号(?:为|是|叫)?|绰号(?:为|是|叫)?|小名(?:为|是|叫)?|代号(?:为|是|叫)?|全名(?:为|是"
    r"|叫)?|全称(?:为|是)?"
    r"|本名(?:为|是|叫)?|原名(?:为|是|叫)?|(?:英文|中文|日文)(?:名字?|名称)?(?:为|是|叫)|缩写(?:为|是)?"
    r"|艺名(?:为|是|叫)?|笔名(?:为|是|叫)?|aka|a\.k\.a\.?"
)
_NOUN_HAN = (
    r"(?:简称|缩写|别名|别称|昵称|外号|绰号|小名|代号|全名|全称|英文名字?|中文名字?|本名|原名|艺名|笔名"
    r"|俗名|另一个名字)"
)
_RAW_HAN = r"[\u3400-\u9fffA-Za-z0-9][\u3400-\u9fffA-Za-z0-9 .&+-]{0,18}?[\u3400-\u9fffA-Za-z0-9+]"
_QUOTED = r"[「『“\"][^「」『』“”\"\n]{1,24}[」』”\"]"
_END_HAN = r"(?=[，,。；;！!、：:）)」』\n]|\s|$)"
_Y_HAN = rf"\s?(?P<alias>{_QUOTED}|{_E}(?![\u3400-\u9fff]*(?:起床|帮忙|过来))|{_RAW_HAN}{_END_HAN})"
_KNOWN_EN = (
    r"(?:(?:also|better|otherwise|sometimes|often|commonly|formerly|usually) )(?:known as|called|referred to as"
    r"|named|spelled)"
    r"|known as|nicknamed|aka|a\.k\.a\.?|AKA|alias|abbreviated (?:as|to)|(?:goes|go) by(?: the name(?: of)?)?|or simply"
)
_WORD_EN = r"[A-Z](?:[\w&'-]|\.(?=\w))*"
_RAW_EN = rf"{_WORD_EN}(?: {_WORD_EN}){{0,3}}"
_Y_EN = rf" ?(?:the )?(?P<alias>{_QUOTED}|{_E}|{_RAW_EN})"

_AFTER: tuple[re.Pattern[str], ...] = (
    re.compile(rf"{_X}\s?[，,]?\s?[（(]?\s?(?:它|他|她|牠|大家|我们|我|公司)?(?:都|们)?\s?(?:{_MARKED_HAN}){_Y_HAN}"),
    re.compile(rf"{_X}\s?的{_NOUN_HAN}(?:就?是|叫|为)?{_Y_HAN}"),
    re.compile(
        rf"{_X}[^。！？!?\n{chr(_FIRST)}-{chr(_LAST)}]{{0,30}}(?:叫|称呼?|管)(?:它|他|她|牠)(?:为|做|作|叫)?{_Y_HAN}"
    ),
    re.compile(rf"(?:把|将|管)\s?{_X}\s?(?:叫|称)(?:为|做|作)?{_Y_HAN}"),
    re.compile(rf"{_X}(?:'s)?,? ?\(?(?:(?:is|was|are|who is|which is|which was) )?(?:{_KNOWN_EN}){_Y_EN}"),
    re.compile(
        rf"{_X}'s (?:nickname|short name|full name|real name|abbreviation|other name|alias|code name"
        rf"|codename) is{_Y_EN}"
    ),
    re.compile(
        rf"{_X}[^.!?\n{chr(_FIRST)}-{chr(_LAST)}]{{0,60}}\b(?:call|calls|called|nickname|nicknamed) (?:it|him"
        rf"|her|them){_Y_EN}"
    ),
    re.compile(rf"\b(?:call|calls) {_X}{_Y_EN}"),
)
_BEFORE: tuple[re.Pattern[str], ...] = (
    re.compile(
        rf"(?:^|(?<=[，,。；;！!\n]))\s?(?P<alias>{_QUOTED}|{_E}|{_RAW_HAN})\s?(?:就|也)?是\s?{_X}\s?的{_NOUN_HAN}"
    ),
    re.compile(
        rf"(?:^|(?<=[，,。；;！!\n]))\s?(?P<alias>{_QUOTED}|[\u3400-\u9fff]{{2,6}})\s?(?:又叫|也叫|又称|也称"
        rf"|亦称|俗称|简称)(?:为|做|作)?\s?{_X}"
    ),
    re.compile(
        rf"(?:^|(?<=[,.;!?\n] ))(?P<alias>{_QUOTED}|{_E}|{_RAW_EN}) (?:is short for|stands for"
        rf"|is an abbreviation of|is another name for) {_X}"
    ),
)
_BRACKETS = re.compile(rf"{_X}\s?[（(]\s?(?P<alias>[^（）()\n]{{1,40}}?)\s?[）)]")
_LATIN_NAME = re.compile(r"[A-Z][\w&.'-]*(?: [A-Z0-9][\w&.'-]*){0,4}$")
_PRONOUNS = "我你您他她它牠这那其谁哪"
_MARKS = "「」『』“”\" '’"


def find_aliases(text: str, mentions: Sequence[Mention]) -> list[AliasClaim]:
    """The distinct aliases that a text states for its mentions.

    Args:
        text: The original text; the offsets of the mentions are into it.
        mentions: In text order, without overlaps; only long-term ones are used.
    """
    named = [mention for mention in mentions if mention.level is MentionLevel.LONG_TERM][: _LAST - _FIRST]
    if not named:
        return []
    masked, origins = _mask(fold(text), named)
    claims: dict[str, AliasClaim] = {}
    for claim in _claims(text, masked, origins, named):
        whole = min(claim.start, claim.mention.start), max(claim.end, claim.mention.end)
        if assertions_of(text).states(*whole):
            claims.setdefault(normalise(claim.alias), claim)
    return list(claims.values())


def _claims(text: str, masked: str, origins: Sequence[int], named: Sequence[Mention]) -> Iterator[AliasClaim]:
    for pattern in (*_AFTER, *_BEFORE):
        for match in pattern.finditer(masked):
            mention = named[ord(match["name"]) - _FIRST]
            if (span := _span(match, origins, named)) and _is_name(text[slice(*span)], mention):
                yield AliasClaim(mention, text[slice(*span)], *span)
    for match in _BRACKETS.finditer(masked):
        mention = named[ord(match["name"]) - _FIRST]
        inside = match["alias"]
        span = _span(match, origins, named)
        if span is None or not _is_name(text[slice(*span)], mention):
            continue
        if (len(inside) == 1 and _FIRST <= ord(inside) <= _LAST and _alike(mention, named[ord(inside) - _FIRST])) or (
            _LATIN_NAME.match(inside) and (has_han(mention.text) or _is_acronym(inside, mention.text))
        ):
            yield AliasClaim(mention, text[slice(*span)], *span)


def _mask(folded: str, named: Sequence[Mention]) -> tuple[str, list[int]]:
    """The text with one placeholder character for each name, and the original offset of each of its characters."""
    parts: list[str] = []
    origins: list[int] = []
    position = 0
    for place, mention in enumerate(named):
        parts += [folded[position : mention.start], chr(_FIRST + place)]
        origins += [*range(position, mention.start), mention.start]
        position = mention.end
    parts.append(folded[position:])
    origins += range(position, len(folded) + 1)
    return "".join(parts), origins


def _span(match: re.Match[str], origins: Sequence[int], named: Sequence[Mention]) -> tuple[int, int] | None:
    """The original span of the alias without quotation marks; None where nothing is left."""
    first, last = match.span("alias")
    alias = match["alias"]
    while first < last and alias[0] in _MARKS:
        first, alias = first + 1, alias[1:]
    while first < last and alias[-1] in _MARKS:
        last, alias = last - 1, alias[:-1]
    if first >= last:
        return None
    ending = alias[-1]
    end = named[ord(ending) - _FIRST].end if _FIRST <= ord(ending) <= _LAST else origins[last - 1] + 1
    return origins[first], end


def _is_name(alias: str, mention: Mention) -> bool:
    """Whether an alias is a name and differs from the mention; different codes are never aliases (DESIGN §6)."""
    return (
        len(alias) > 1
        and alias[0] not in _PRONOUNS
        and not (mention.subtype is EntitySubtype.CODE and any(character.isdigit() for character in alias))
        and not is_junk(alias)
        and normalise(alias) != normalise(mention.text)
    )


def _alike(first: Mention, other: Mention) -> bool:
    """Whether a name in brackets may be an alias of the name before it.

    It may in another script, and for persons and organisations; 台北（台灣） are two places.
    """
    kinds = {first.subtype, other.subtype} - {None}
    if len(kinds) > 1 or EntitySubtype.CODE in kinds:
        return False
    return (
        has_han(first.text) != has_han(other.text)
        or kinds == {EntitySubtype.PERSON}
        or (kinds == {EntitySubtype.ORGANISATION} and has_han(first.text))
        or _is_acronym(other.text, first.text)
    )


def _is_acronym(short: str, name: str) -> bool:
    """Whether `short` consists of the initials of `name`: TSMC, IBM."""
    initials = "".join(word[0] for word in re.split(r"[\s-]+", name) if word and not is_han(word[0])).upper()
    return short.isupper() and len(short) > 1 and initials.startswith(short)
