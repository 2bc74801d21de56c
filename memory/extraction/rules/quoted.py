"""Finds titles and names in quotation marks, not quoted speech."""

import re
from collections.abc import Iterator

from ...values.mentions import EntitySubtype
from .candidates import Candidate, Layer

_MOST = 60
_TITLES = re.compile(rf"《([^《》\n]{{1,{_MOST}}})》|〈([^〈〉\n]{{1,{_MOST}}})〉")
_QUOTES = re.compile(
    rf"「([^「」\n]{{1,{_MOST}}})」|『([^『』\n]{{1,{_MOST}}})』|“([^“”\n]{{1,{_MOST}}})”|\"([^\"\n]{{1,{_MOST}}})\""
)
_SENTENCE_MARKS = re.compile(r"[，。！？；：,!?;:…]|\.\s|\.$")

_WORKS = (
    "书|小说|电影|影片|片子|歌|歌曲|曲子|专辑|剧|电视剧|影集|戏|节目"
    "|文章|论文|报告|漫画|动画|动漫|游戏|诗|杂志|报纸|绘本|教材|课程|纪录片"
)
_PRODUCTS = "专案|项目|计划|系统|产品|平台|软件|软体|服务|模型|工具|品牌|应用|机器人|助理"
_ORGANISATIONS = "公司|餐厅|店|咖啡厅|咖啡店|团队|乐团|学校|社团|组织|机构|部门|基金会|工作室"
_NAMED = "叫|叫做|叫作|名叫|名为|名字是|称为|称作|取名|命名为|改名为|代号|简称|绰号|外号|昵称|一个|一家|一部|一本|一首"
_CLASSIFIER = r"(?:的|这|那|一)?(?:本|部|首|个|家|款|篇|间|套|集)?"

_Cue = tuple[re.Pattern[str], EntitySubtype | None]
_BEFORE: tuple[_Cue, ...] = (
    (re.compile(rf"(?:{_WORKS})(?:是|叫|叫做|名叫|名为)?$"), EntitySubtype.WORK),
    (re.compile(rf"(?:{_PRODUCTS})(?:是|叫|叫做|名叫|名为)?$"), EntitySubtype.PRODUCT),
    (re.compile(rf"(?:{_ORGANISATIONS})(?:是|叫|叫做|名叫|名为)?$"), EntitySubtype.ORGANISATION),
    (
        re.compile(
            r"(?:book|novel|film|movie|song|album|show|series|article|paper|poem|game|podcast|play|magazine)"
            r"(?: (?:is )?(?:called|named|titled|entitled))? $",
            re.IGNORECASE,
        ),
        EntitySubtype.WORK,
    ),
    (
        re.compile(r"(?:project|product|system|app|tool|platform)(?: (?:is )?(?:called|named))? $", re.I),
        EntitySubtype.PRODUCT,
    ),
    (re.compile(rf"(?:{_NAMED})$|(?:called|named|titled|entitled|nicknamed) $", re.IGNORECASE), None),
    (re.compile(r"(?:read|watch|watched|watching|reading) $", re.IGNORECASE), EntitySubtype.WORK),
    (re.compile(r"(?:读|看|听|阅读|观看|读完|看完|听过|看过|读过)了?$"), EntitySubtype.WORK),
)
_AFTER: tuple[_Cue, ...] = (
    (re.compile(rf"{_CLASSIFIER}(?:{_WORKS})|一[书文片剧歌]"), EntitySubtype.WORK),
    (re.compile(rf"{_CLASSIFIER}(?:{_PRODUCTS})"), EntitySubtype.PRODUCT),
    (re.compile(rf"{_CLASSIFIER}(?:{_ORGANISATIONS})"), EntitySubtype.ORGANISATION),
)
SPEAKING = re.compile(
    r"(?:说|道|问|喊|答|回答|表示|回|讲|写|叫道|说道|心想|告诉.{1,4}|[：:])[：:,，]?\s?$"
    r"|(?:said|says|say|asked|replied|wrote|shouted|whispered|told \w{1,12})[,:]? $",
    re.IGNORECASE,
)
_SMALL = frozenset(
    {"a", "an", "and", "as", "at", "by", "for", "from", "in", "is", "of", "on", "or", "the", "to", "with"}
)
_MOST_HAN = 20
_MOST_LATIN_WORDS = 7


def find_quoted(folded: str) -> Iterator[Candidate]:
    """Finds titles and quoted names; the span excludes the quotation marks.

    《》 and 〈〉 always contain the title of a work. 「」, 『』, “” and "" contain a name only where it is short,
    without sentence marks, not introduced as speech (說：「…」), and next to a word for its type (電影「…」,
    「…」這本書, a book called "…").
    """
    for match in _TITLES.finditer(folded):
        confidence = 0.95 if match.group(1) else 0.85
        span = _trimmed(folded, *match.span(match.lastindex or 0))
        if span is not None:
            yield Candidate(*span, Layer.QUOTED, "quoted.title", confidence, EntitySubtype.WORK)
    for match in _QUOTES.finditer(folded):
        start, end = match.span(match.lastindex or 0)
        span = _trimmed(folded, start, end)
        if span is None or not _is_name_like(folded[start:end]):
            continue
        before, after = folded[max(0, start - 25) : start - 1], folded[end + 1 : end + 10]
        cue = _cue(before, after)
        if cue is None and _is_title(folded[start:end]) and not SPEAKING.search(before):
            yield Candidate(*span, Layer.QUOTED, "quoted.title", 0.75, EntitySubtype.WORK)
        if cue is not None:
            yield Candidate(*span, Layer.QUOTED, "quoted.name", 0.8, cue[0])


def _cue(before: str, after: str) -> tuple[EntitySubtype | None] | None:
    """The type that the context gives a quotation, possibly unknown; None where it is no name."""
    if SPEAKING.search(before):
        return None
    following = ((subtype,) for pattern, subtype in _AFTER if pattern.match(after))
    preceding = ((subtype,) for pattern, subtype in _BEFORE if pattern.search(before))
    return next(following, None) or next(preceding, None)


def _is_name_like(text: str) -> bool:
    if _SENTENCE_MARKS.search(text):
        return False
    if text.isascii():
        return len(text.split()) <= _MOST_LATIN_WORDS and any(word[:1].isupper() for word in text.split())
    return len(text) <= _MOST_HAN


def _is_title(text: str) -> bool:
    """Whether it is an English title: several words, all capitalised but articles and prepositions."""
    words = text.split()
    return (
        text.isascii()
        and len(words) > 1
        and words[0][:1].isupper()
        and all(word[:1].isupper() or word[:1].isdigit() or word.lower() in _SMALL for word in words)
    )


def _trimmed(folded: str, start: int, end: int) -> tuple[int, int] | None:
    text = folded[start:end]
    start, end = start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip())
    return (start, end) if any(character.isalnum() for character in folded[start:end]) else None
