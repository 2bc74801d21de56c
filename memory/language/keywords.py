"""Text analysis for keyword search: which terms a text has, and their BM25 weights.

Chinese: jieba's words on Simplified text, and character bigrams (so that a two-character word is found however the
text around it was cut; a word that jieba sees counts in both). English: lower case, no function words, Snowball
stems; two words with a hyphen as one word too. Codes: whole and in parts. Numbers: without the commas of thousands.
Traditional and Simplified, full width and half width are the same terms.
"""

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import blake2b

from ..values.text import fold_compatible
from ..values.text_caches import text_cache
from ..values.vectors import SparseVector
from .word_lists import words

STOP_WORDS_ENGLISH = words("stop_words_english")
STOP_WORDS_CHINESE = words("stop_words_chinese")
_QUESTION_WORDS_CHINESE = words("question_words_chinese")

VERSION = 2
"""Increased with every change of terms or weights, so that older index entries are known to be stale."""
K1 = 0.9
"""BM25 saturation of the term frequency."""
B = 0.4
"""BM25 length normalisation."""
AVERAGE_LENGTH = 150.0
"""Terms of an average text. A constant, so that a text has the same weights in every store and need never be
indexed again when the average moves. Chat messages measure 15 terms (English) to 50 (Chinese), passages 500: this
lies between. Measured, 60 to 250: turns R@10 64.9 to 65.3 (LoCoMo), passages R@1 93.0 to 94.4 (DRCD); at 30,
passages lose 3.6 points."""

_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SYLLABLES = r"\u3040-\u30ff\uac00-\ud7af"
_RUN = re.compile(
    rf"(?P<han>[{_HAN}]+)"
    rf"|(?P<syllables>[{_SYLLABLES}]+)"
    rf"|(?P<word>[^\W_{_HAN}{_SYLLABLES}]+(?:[-_.'/:@][^\W_{_HAN}{_SYLLABLES}]+)*(?:\+\+|#(?!\w))?)"
)
HAN_RUN = re.compile(rf"[{_HAN}]+")
"""Han characters in a row."""
_NUMBER = re.compile(r"\d+(?:[.:/]\d+)*")
_VERSION = re.compile(r"v(\d+(?:\.\d+)*)")
_SEPARATORS = re.compile(r"[-_./:@]")
_HYPHENATED = re.compile(r"[^\W\d_]+[-_][^\W\d_]+")
# Comma and digits have the same width: a full-width comma between half-width digits separates items of a list.
_THOUSANDS = re.compile(
    r"(?<![0-9])(?<![0-9][.,])[0-9]{1,3}(?:,[0-9]{3})+(?!,?[0-9])"
    r"|(?<![\uff10-\uff19])(?<![\uff10-\uff19][\uff0e\uff0c])[\uff10-\uff19]{1,3}(?:\uff0c[\uff10-\uff19]{3})+"
    r"(?!\uff0c?[\uff10-\uff19])"
)
_LONGEST = 64


class KeywordAnalyzer:
    """Turns texts into terms and sparse vectors; safe to share between threads."""

    def __init__(self) -> None:
        self._of_thread = threading.local()

    def terms(self, text: str) -> list[str]:
        """All terms of a text in their order, with repetitions; the same for both scripts and all widths."""
        return list(self._terms(_fold(text)))

    def content_terms(self, text: str) -> set[str]:
        """The distinct terms of a text without Chinese question words, and what stands on both sides of one apart."""
        return set(self._terms(HAN_RUN.sub(_without_question_words, _fold(text))))

    def document_vector(self, text: str) -> SparseVector:
        """Weights of a text in the index: `tf·(k1+1) / (tf + k1·(1 − b + b·length/average))`; the store adds IDF."""
        terms = self.terms(text)
        norm = K1 * (1 - B + B * len(terms) / AVERAGE_LENGTH)
        return sparse_vector({term: count * (K1 + 1) / (count + norm) for term, count in Counter(terms).items()})

    def query_vector(self, text: str) -> SparseVector:
        """Weights of a query: how often each term occurs in it."""
        return sparse_vector({term: float(count) for term, count in Counter(self.terms(text)).items()})

    def _terms(self, folded: str) -> Iterator[str]:
        for match in _RUN.finditer(folded):
            run = match.group()
            if match.lastgroup == "han":
                yield from self._han_terms(run)
            elif match.lastgroup == "syllables":
                yield from _bigrams(run)
            else:
                yield from self._word_terms(run)

    def _han_terms(self, run: str) -> Iterator[str]:
        for word in chinese_words(run):
            if word not in STOP_WORDS_CHINESE:
                yield word
        if len(run) > 1:
            yield from _bigrams(run)

    def _word_terms(self, run: str) -> Iterator[str]:
        word = run.removesuffix("'s")
        if word in STOP_WORDS_ENGLISH:
            return
        word = _plain(word)
        if _NUMBER.fullmatch(word):
            yield word[:_LONGEST]
            return
        parts = _SEPARATORS.split(word)
        if len(parts) == 1:
            yield self._stem(word)
            return
        yield word[:_LONGEST]
        version = _VERSION.fullmatch(word)
        if version:
            yield version.group(1)
            return
        yield from (self._stem(part) for part in parts if part and part not in STOP_WORDS_ENGLISH)
        if _HYPHENATED.fullmatch(word):  # Wi-Fi is WiFi; codes stay apart (DESIGN §6)
            yield self._stem("".join(parts))

    def _stem(self, word: str) -> str:
        if len(word) > _LONGEST:
            return word[:_LONGEST]
        if not word.isalpha():
            return word
        stemmer = getattr(self._of_thread, "stemmer", None)
        if stemmer is None:
            from Stemmer import Stemmer  # compiled: not at import

            stemmer = self._of_thread.stemmer = Stemmer("english")  # keeps state while it works: one per thread
        return str(stemmer.stemWord(word))


def chinese_words(run: str) -> list[str]:
    """The words of a run of Simplified characters as jieba cuts it."""
    import rjieba  # loads its dictionary, one for the process: not at import

    return rjieba.cut(run)


def _fold(text: str) -> str:
    """The compatible form, with the commas of thousands taken out and curly quotes made straight.

    Not `fold`: term ids of this form are in every index, so it may only change together with `VERSION`.
    """
    valid = text.encode("utf-8", "replace").decode("utf-8")
    whole_numbers = _THOUSANDS.sub(lambda number: number.group().translate({0x2C: None, 0xFF0C: None}), valid)
    return fold_compatible(whole_numbers).translate({0x2018: "'", 0x2019: "'"})


def _plain(word: str) -> str:
    """Without accents and apostrophes: café is cafe, o'keefe is okeefe."""
    if word.isascii():
        return word.replace("'", "")
    letters = unicodedata.normalize("NFKD", word)
    return "".join(letter for letter in letters if not unicodedata.combining(letter) and letter != "'") or word


def _without_question_words(run: re.Match[str]) -> str:
    return "".join(" " if word in _QUESTION_WORDS_CHINESE else word for word in chinese_words(run.group()))


def _bigrams(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for start in range(len(run) - 1):
        yield run[start : start + 2]


@text_cache(maxsize=65_536)
def term_id(term: str) -> int:
    """The stable id of a term: the first 32 bits of BLAKE2b over its UTF-8 bytes.

    Two given terms share an id with odds of 1 in 4.3 thousand million; among 100,000 distinct terms about one pair
    does (n²/2³³). A shared id adds a weak false match to a keyword score and nothing else.
    """
    return int.from_bytes(blake2b(term.encode(), digest_size=4).digest(), "big")


def sparse_vector(weights: Mapping[str, float]) -> SparseVector:
    """Weights by term as a vector: ids in rising order; where two terms share an id, the larger weight is kept."""
    by_id: dict[int, float] = {}
    for term, weight in weights.items():
        identifier = term_id(term)
        by_id[identifier] = max(weight, by_id.get(identifier, 0.0))
    ordered = sorted(by_id.items())
    return SparseVector(tuple(identifier for identifier, _ in ordered), tuple(weight for _, weight in ordered))
