"""Tells what a text states as fact from what it asks, denies, supposes or quotes from somebody else."""

import re
from collections.abc import Iterator

from ..language.sentences import Sentences
from ..values.text import fold
from ..values.text_caches import text_cache

_CLAUSE_END = re.compile(
    r"[，,、。！？!?；;：:\n…]|\.(?=\s|$)|——| - |(?:但是?|可是|不过|而且|所以)|\b(?:but|however|although)\b", re.I
)
_DENIES = re.compile(
    r"不(?![错仅但只过管论])|没(?![错关])|(?<![南北])无法|并非|(?<![从])未(?!来|婚)|别(?!人|的)|[甭勿]|从未"
    r"|\b(?:not|never|no longer|neither|nor|cannot|hardly|without|refuse[sd]?)\b|n't\b",
    re.IGNORECASE,
)
_ENDED = re.compile(
    r"以前|从前|曾经|曾在|曾任|过去|原本|原先|离开了?|离职|辞掉|辞职|卖掉|卖了|退货|前任|不再"
    r"|\b(?:used to|formerly|previously|no longer|once (?:work|live|use)|quit|left|sold|former|ex-)",
    re.IGNORECASE,
)
_SUPPOSES = re.compile(
    r"如果|假如|假设|要是|倘若|若是|假使|万一|一旦|也许|或许|可能|大概|应该是|好像|似乎|说不定|听说|据说|传闻|猜|以为"
    r"|想要?(?![念起到着])|打算|计划(?:要|去|在|买|用)|希望|考虑|准备(?:要|去|买|用)|将要|是否|要不要|会不会"
    r"|比方说|假装|梦到|梦见|幻想"
    r"|\b(?:if|unless|suppose|supposing|assuming|maybe|perhaps|probably|possibly|might|would|could|should|wish(?:es)?"
    r"|imagine|wonder(?:ing)?|whether|hop(?:e|es|ing)|guess|(?:i|we|they|people) (?:think|heard|believe)"
    r"|want(?:s|ed)? to"
    r"|plan(?:s|ning)? (?:to|on)|going to|thinking (?:of|about)|consider(?:s|ing)?|allegedly|supposedly|rumou?r"
    r"|dream(?:t|ed)?"
    r"|pretend(?:s|ed|ing)?|'d)\b",
    re.IGNORECASE,
)
_QUOTES = re.compile(r"「[^「」]+」|『[^『』]+』|“[^“”]+”|\"[^\"\n]+\"")
_QUOTED_LINE = re.compile(r"^[ \t]*>[^\n]*$", re.MULTILINE)
_FENCED = re.compile(r"^```.*?(?:^```|\Z)", re.MULTILINE | re.DOTALL)
_SPEAKING = re.compile(
    r"(?:说|道|问|喊|答|回答|表示|回|讲|写|叫道|说道|心想|告诉.{1,4}|[：:])[：:,，]?\s?$"
    r"|(?:said|says|say|asked|replied|wrote|shouted|whispered|told \w{1,12})[,:]? $",
    re.IGNORECASE,
)
_CITES = re.compile(
    r"(?:引述|引用|转贴|转载|原文|节录|摘录|报导|报道|新闻|文章|书上|网友|歌词)(?:写|说|提到|指出|如下|是)?[：:]?\s*$"
    r"|(?:quote|quoting|quoted|excerpt|lyrics?|article|according to [\w ]{1,30})[:,]?\s*$",
    re.IGNORECASE,
)


class Assertions:
    """The statements of a text: whether a span is asserted, asked or quoted; offsets are into the text given."""

    def __init__(self, text: str) -> None:
        self._folded = fold(text)
        self._sentences = Sentences(self._folded)
        self._quoted = tuple(_quoted(self._folded))

    def quotes(self, start: int, end: int) -> bool:
        """Whether the span is a quotation: speech in quotation marks, a quoted line, a fenced block."""
        return any(first <= start and end <= last for first, last in self._quoted)

    def asserts(self, start: int, end: int) -> bool:
        """Whether the span is stated as a current fact: not asked, supposed, denied, past or quoted."""
        if start >= end or self.quotes(start, end):
            return False
        sentence = self._sentences.at(start)
        if end > sentence.end or sentence.asks or _SUPPOSES.search(self._folded, sentence.start, end):
            return False
        first, last = self._clause(sentence.start, sentence.end, start, end)
        clause = self._folded[first:last]
        return not (_DENIES.search(clause) or _ENDED.search(clause))

    def states(self, start: int, end: int) -> bool:
        """Whether the span is in a statement, even if negated or past; not in a question, supposition or quotation."""
        if start >= end or self.quotes(start, end):
            return False
        sentence = self._sentences.at(start)
        return not sentence.asks and not _SUPPOSES.search(self._folded, sentence.start, end)

    def asks(self, offset: int) -> bool:
        """Whether the sentence around an offset asks."""
        return self._sentences.at(offset).asks

    def _clause(self, first: int, last: int, start: int, end: int) -> tuple[int, int]:
        for match in _CLAUSE_END.finditer(self._folded, first, last):
            if match.end() <= start:
                first = match.end()
            elif match.start() >= end:
                return first, match.start()
        return first, last


@text_cache(maxsize=256)
def assertions_of(text: str) -> Assertions:
    """The assertions of a text; cached, since the learner reads them several times."""
    return Assertions(text)


def _quoted(folded: str) -> Iterator[tuple[int, int]]:
    for pattern in (_QUOTED_LINE, _FENCED):
        for match in pattern.finditer(folded):
            yield match.span()
    for match in _QUOTES.finditer(folded):
        before = folded[max(0, match.start() - 40) : match.start()]
        if _SPEAKING.search(before) or _CITES.search(before):
            yield match.span()
