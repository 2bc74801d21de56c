"""Decides which names of a tagger are ordinary words, and which are kept for the session only.

The frequency limit was set on training rows of the Chinese sets (CLUENER, UNER, MSRA, People's Daily, Weibo, Youku): a
noun with fewer than 200 occurrences in the dictionary's corpus is a name in 3 to 12% of its occurrences there, a more
frequent one in 1 to 2%, and a rare one that ends in a generic character (館, 員) hardly ever. The scores were set on
tuning rows and on hand-written chat.
"""

import re

from ...language import han_words, latin_words
from ...language.han_tokens import NAME_TAGS, Word, Words, frequency
from ...language.known_names import known_types
from ...values.mentions import EntitySubtype, TaggedSpan
from ...values.text import is_han

_PRODUCT_OF_A_WORD = 0.997
"""Least score for a dictionary word (合約) or a common abbreviation (PPT) as a product."""
_PRODUCT_IN_LOWER_CASE = 0.9
"""Least score for Latin words without capital, digit or hyphen as a product (redis, not acoustic guitar)."""
_NAMING_NOTHING = 0.97
"""Least score for a word that the rules list as no name (公司, PPT), as any type but a person."""
SURE_OF_A_PERSON = 0.95
"""Least score for such a word (陳列, May), or a listed Latin name (IBM, Washington), as a person."""
_CUTTING_A_WORD = 0.98
"""Least score for a name that begins or ends inside a dictionary word, as 哥 in 表哥."""
_SPEAKING_OF_A_WORD = 0.98
"""Least score for an everyday word (博物館, 小超市), or a verb with one (愛登山), as a name."""
_CUT_CONTRACTION = re.compile(r"(?<=[a-z])['’](?!s\b)[a-z]", re.IGNORECASE)
_EVERYDAY = 200
"""Occurrences in the dictionary's corpus from which a noun is rather not a name."""
_MAY_NAME = ("n", "j")
"""jieba's parts of speech of words that may be names: rare nouns, and abbreviations (東盟) of any frequency."""
_DESCRIBED = re.compile(r"(?:是|一?[家间])$")
"""Before a description rather than a name: 台積電是半導體公司."""
_PAIRS = ("()", "[]", "《》", "〈〉", "「」", "『』", "【】", "“”")
_SIZES = "小大新老旧"
_COMPANIES = ("公司", "企业", "厂商", "工厂", "商店")


def is_doubtful(folded: str, words: Words, span: TaggedSpan) -> bool:
    """Whether the span is a word that is seldom a name, and its score too low for one."""
    text = folded[span.start : span.end]
    if text in known_types():
        return False
    if span.score < _CUTTING_A_WORD and words.cuts_word(span.start, span.end):
        return True
    if _CUT_CONTRACTION.match(folded, span.end) or _is_unbalanced(text):
        return True  # Glad y, of "Glad y'all"; Things" Museum, of 'the "Making Things" Museum'
    if text.endswith("人") and text[:-1] in han_words.PLACES:
        return True  # 瀋陽人
    inside = _inside(words, span)
    is_unsure = span.score < _SPEAKING_OF_A_WORD
    if is_unsure and _is_verb_with_object(inside):
        return True
    if _is_kind_of_company(inside) and (is_unsure or _DESCRIBED.search(folded, 0, span.start)):
        return True
    if span.subtype is EntitySubtype.PERSON and inside:
        if inside[0].tag == "r":
            return True  # 我表妹
        if span.score < SURE_OF_A_PERSON and _ends_in_adverb(inside):
            return True
    lists = (latin_words.COMMON, latin_words.GENERIC, han_words.STOP_NAMES)
    names_nothing = any(text.lower() in word_list for word_list in lists)
    if names_nothing and span.score < (SURE_OF_A_PERSON if span.subtype is EntitySubtype.PERSON else _NAMING_NOTHING):
        return True
    if span.subtype is not EntitySubtype.PRODUCT:
        return False
    if names_nothing or _is_one_word(inside):
        return span.score < _PRODUCT_OF_A_WORD
    is_lower_case = text.isascii() and text.islower() and text.replace(" ", "").isalpha()
    return is_lower_case and span.score < _PRODUCT_IN_LOWER_CASE


def is_for_the_session(folded: str, words: Words, span: TaggedSpan) -> bool:
    """Whether a name is kept for references in the session but not learned.

    These are everyday words without a very high score, and single Chinese characters (哥, 美), which as known names
    would be found in nearly every text.
    """
    text = folded[span.start : span.end]
    if text in known_types():
        return False
    if len(text) == 1 and is_han(text):
        return True
    if span.subtype is EntitySubtype.PRODUCT:
        return False
    if _is_everyday(_inside(words, span)):
        return span.score < _SPEAKING_OF_A_WORD
    before = folded[: span.start].rstrip()
    begins = not before or before[-1] in ".!?…"
    is_latin_word = text.isascii() and text.isalpha() and text.lower() not in latin_words.GIVEN_NAMES
    return span.subtype is EntitySubtype.PERSON and begins and is_latin_word and span.score < SURE_OF_A_PERSON


def _is_unbalanced(text: str) -> bool:
    """Whether its brackets or quotation marks are not paired."""
    return text.count('"') % 2 == 1 or any(text.count(pair[0]) != text.count(pair[1]) for pair in _PAIRS)


def _inside(words: Words, span: TaggedSpan) -> list[Word]:
    """The Chinese words of the span; empty where it cuts a word or contains no Chinese."""
    place = words.at(span.start)
    if place < 0 or words[place].start != span.start:
        return []
    found: list[Word] = []
    while place < len(words) and words[place].end <= span.end:
        found.append(words[place])
        place += 1
    return found if found and found[-1].end == span.end else []


def _is_one_word(inside: list[Word]) -> bool:
    return len(inside) == 1 and _is_ordinary(inside[0])


def _is_ordinary(word: Word) -> bool:
    """Whether the dictionary lists it, but not as a name."""
    return word.listed and (not word.tag.startswith(NAME_TAGS) or word.text in han_words.STOP_NAMES)


def _is_everyday(inside: list[Word]) -> bool:
    """Whether it is an everyday word, alone or after a size: 博物館, 小超市; not 資生堂."""
    if len(inside) == 2 and inside[0].text in _SIZES:
        return _is_ordinary(inside[1]) and frequency(inside[1].text) >= _EVERYDAY
    if not _is_one_word(inside):
        return False
    [word] = inside
    if not word.tag.startswith(_MAY_NAME):
        return True
    is_kind = word.text[-1] in han_words.KIND_ENDS
    return not word.tag.startswith("j") and (is_kind or frequency(word.text) >= _EVERYDAY)


def _is_verb_with_object(inside: list[Word]) -> bool:
    """Whether it is a verb of one character and its object: 愛·登山, 跑·馬拉松."""
    if len(inside) != 2 or len(inside[0].text) > 1 or not inside[0].tag.startswith("v"):
        return False
    done = inside[1]
    return _is_ordinary(done) and (done.text in han_words.STOP_NAMES or frequency(done.text) >= _EVERYDAY)


def _is_kind_of_company(inside: list[Word]) -> bool:
    """Whether it is a kind of company rather than a name: 半導體·公司; not 鴻海·公司."""
    return len(inside) == 2 and inside[1].text in _COMPANIES and _is_ordinary(inside[0])


def _ends_in_adverb(inside: list[Word]) -> bool:
    """Whether its last word is an adverb of the predicate: 陳列·也 (明智)."""
    return len(inside) > 1 and inside[-1].tag == "d" and len(inside[-1].text) == 1
