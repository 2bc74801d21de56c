"""Whether a generated text names values that its source does not: numbers, codes, addresses, quotations and names.

Widths, scripts, case, and how a number is written (35, 三十五, thirty-five) make no difference. What is not a value is
not compared: that nothing is turned round ("not", "no longer") cannot be told from the words.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import date

from ..language.keywords import STOP_WORDS_ENGLISH
from ..ports.models.language import Extractor
from ..values.errors import Overloaded, Unavailable
from ..values.text import fold_lower
from ..values.understanding.mentions import MentionLevel

_SURE_NAME = 0.6
"""Confidence from which a name that the reader finds must stand in the source."""
_SENTENCE_END = re.compile(r"[。！？!?\n]+|\.(?=\s|$)")
_DIGITS = re.compile(r"\d+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_HAN_NUMBER = re.compile(r"[零〇一二三四五六七八九十百千万亿两]+")
_COUNTED = frozenset("个位只条张本年月日天周岁点时次元块号楼层人")
"""Simplified characters after which one numeral alone is a number: 三年, not 三峡."""
_HAN_DIGITS = {numeral: value for value, numeral in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1_000}
_HAN_SCALES = {"万": 10_000, "亿": 100_000_000}
_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBER_WORDS = {word: value for value, word in enumerate(_ONES)} | {
    word: 10 * value for value, word in enumerate(_TENS, 2)
}
_NUMBER_WORD = re.compile(rf"\b(?:({'|'.join(_TENS)})[ -]({'|'.join(_ONES[1:10])})|({'|'.join(_NUMBER_WORDS)}))\b")
_ADDRESS = re.compile(r"\w+://[!-~]+|[!-~]+@[!-~]+\w")
_CODE = re.compile(r"[a-z0-9]+(?:[-_./:#+][a-z0-9]+)*")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")
_QUOTATION = re.compile(r"「([^「」]+)」|『([^『』]+)』|“([^“”]+)”|\"([^\"]+)\"")
_HAN_RUN = re.compile(r"[\u3400-\u9fff]+")
_LATIN_WORD = re.compile(r"[A-Za-z\u00c0-\u024f][\w'\u2019&-]*")
_OPENERS = frozenset({"yes", "no", "yeah", "according", "based", "currently", "previously", "earlier", "sorry", "ok"})
"""Words that may begin an answer, name nothing, and are no stop words."""


def unknown_values(text: str, source: str, *, is_english: bool) -> list[str]:
    """The values of a text, in its own words, that its source does not hold.

    Args:
        text: What was generated.
        source: All that it may name.
        is_english: Whether the text is to be English, where names are told by their capitals; elsewhere every Latin
            word is one.
    """
    found = [
        *unknown_numbers(text, source),
        *_unknown_codes(text, source),
        *_unknown_quotations(text, source),
        *unknown_words(_SENTENCE_END.split(text), source, is_english=is_english),
        *(_unknown_openings(text, source) if is_english else ()),
    ]
    return list(dict.fromkeys(found))


def unknown_numbers(text: str, source: str) -> list[str]:
    """The numbers of a text that its source does not hold."""
    known = {number for _, number in _numbers(source, everywhere=True)}
    return [written for written, number in _numbers(text, everywhere=False) if number not in known]


def unknown_words(sentences: Iterable[str], source: str, *, is_english: bool) -> Iterator[str]:
    """Words that look like names by their spelling, and those of the other language."""
    known = {_stem(word) for word in _LATIN_WORD.findall(source)}
    compared = comparable(source)
    for sentence in map(str.strip, sentences):
        for match in _LATIN_WORD.finditer(sentence):
            word = match.group()
            is_name = not is_english or (match.start() > 0 and word != word.lower() and _stem(word) != "i")
            if is_name and _stem(word) not in known:
                yield word
        if is_english:
            yield from (run for run in _HAN_RUN.findall(sentence) if comparable(run) not in compared)


def without_date(text: str, day: date) -> str:
    """A text without the ways in which this date, its month, its year and its day of the week are written."""
    year, month, number = day.year, rf"0?{day.month}", rf"0?{day.day}"
    name = rf"(?:{day:%B}|{day:%b}\.?)"
    ordinal = rf"{number}(?:st|nd|rd|th)?(?!\d)"
    written = (
        rf"(?<!\d){year}[-/.]{month}[-/.]{number}(?!\d)",
        rf"(?<!\d)(?:{year}年)?{month}月(?:{number}[日号號])?",
        rf"(?<!\d){ordinal} (?:of )?{name}(?:,? {year}(?!\d))?",
        rf"\b{name}(?: {ordinal})?(?:,? {year}(?!\d))?(?![a-z])",
        rf"(?<!\d){year}(?!\d)年?",
        rf"\b{day:%A}\b",
    )
    return re.sub("|".join(written), " ", text, flags=re.IGNORECASE)


async def unknown_names(text: str, source: str, extractor: Extractor | None) -> list[str]:
    """Names that the trained reader finds in a text and that its source does not hold; none while it is away."""
    if extractor is None:
        return []
    try:
        [extraction] = await extractor.extract([text])
    except (Unavailable, Overloaded):
        return []
    known = comparable(source)
    return [
        mention.text
        for mention in extraction.mentions
        if mention.level is MentionLevel.LONG_TERM
        and mention.confidence >= _SURE_NAME
        and comparable(mention.text) not in known
    ]


def comparable(text: str) -> str:
    """A text without white space, in one width, script and case."""
    return "".join(fold_lower(text).split())


def _numbers(text: str, *, everywhere: bool) -> Iterator[tuple[str, int]]:
    """Numbers as they are written, and their values.

    Args:
        text: Where they are sought.
        everywhere: Whether single Chinese numerals and "one" count wherever they stand, as in names and phrases.
    """
    plain = _THOUSANDS.sub("", unicodedata.normalize("NFKC", text))
    for match in _DIGITS.finditer(plain):
        yield match.group(), int(match.group())
    folded = fold_lower(text)
    for match in _HAN_NUMBER.finditer(folded):
        counts = folded[match.end() : match.end() + 1] in _COUNTED and match.group() != "一"
        if everywhere or counts or len(match.group()) > 1:
            yield text[match.start() : match.end()], _han_value(match.group())
    for match in _NUMBER_WORD.finditer(folded):
        tens, ones, alone = match.groups()
        if everywhere or alone != "one":
            value = _NUMBER_WORDS[alone] if alone else _NUMBER_WORDS[tens] + _NUMBER_WORDS[ones]
            yield text[match.start() : match.end()], value


def _han_value(numerals: str) -> int:
    """The value of Chinese numerals; of digits without units (二〇二六), the number that they spell."""
    if all(numeral in _HAN_DIGITS for numeral in numerals):
        return int("".join(str(_HAN_DIGITS[numeral]) for numeral in numerals))
    total = section = digit = 0
    for numeral in numerals:
        if numeral in _HAN_DIGITS:
            digit = _HAN_DIGITS[numeral]
        elif numeral in _HAN_UNITS:
            section, digit = section + (digit or 1) * _HAN_UNITS[numeral], 0
        else:
            total, section, digit = (total + section + digit or 1) * _HAN_SCALES[numeral], 0, 0
    return total + section + digit


def _unknown_codes(text: str, source: str) -> Iterator[str]:
    """Addresses, words with digits in them, decimals and times of day that do not stand whole in the source."""
    folded, known = fold_lower(text), fold_lower(source)
    for match in _ADDRESS.finditer(folded):
        if not _holds(known, match.group().rstrip(".,;:!?)")):
            yield match.group()
    for match in _CODE.finditer(folded):
        code = match.group()
        has_digit, has_letter = any(map(str.isdigit, code)), any(map(str.isalpha, code))
        is_decimal = re.fullmatch(r"\d+(?:[.:]\d+)+", code) is not None
        if (is_decimal or (has_digit and has_letter and not _ORDINAL.fullmatch(code))) and not _holds(known, code):
            yield code


def _holds(source: str, code: str) -> bool:
    """Whether a code stands whole in a folded text; "3 pm" is "3pm"."""
    spaced = r"\s*".join(re.escape(part) for part in re.findall(r"\d+|[a-z]+|[^a-z0-9]+", code))
    return re.search(rf"(?<![a-z0-9]){spaced}(?![a-z0-9])", source) is not None


def _unknown_quotations(text: str, source: str) -> Iterator[str]:
    known = comparable(source)
    for groups in _QUOTATION.findall(text):
        [quotation] = filter(None, groups)
        if comparable(quotation.rstrip("。，.,!?！？…")) not in known:
            yield quotation


def _unknown_openings(text: str, source: str) -> Iterator[str]:
    """First words of sentences that the source does not hold, stop words aside: a name may stand there."""
    known = {_stem(word) for word in _LATIN_WORD.findall(source)}
    for sentence in map(str.strip, _SENTENCE_END.split(text)):
        match = _LATIN_WORD.match(sentence)
        if match and match.group() != match.group().lower():
            word = _stem(match.group())
            if not {word, word.split("'")[0]} & (STOP_WORDS_ENGLISH | _OPENERS | known | _NUMBER_WORDS.keys()):
                yield match.group()


def _stem(word: str) -> str:
    return re.sub(r"['\u2019]s?$", "", fold_lower(word))
