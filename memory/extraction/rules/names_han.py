"""Chinese names of people, places and organisations: jieba's tags, checked by lists, and suffix rules."""

import re
from collections.abc import Iterator
from functools import cache

from ...language import han_words as known
from ...language.han_tokens import Word, Words
from ...values.mentions import EntitySubtype
from ...values.text import is_han
from .candidates import Candidate, Layer

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
_NAMED = re.compile(
    r"(?:[\u4e00-\u9fff]{1,4}(?:叫做?|叫作|名叫|是叫)|(?:名字|姓名|本名|全名)(?:叫做?|就?是|为))"
    r"([\u4e00-\u9fff]{2,4})(?=[，。！？、；,.!?;\s]|\Z)"
)
"""A weaker introduction: the name must also begin with a surname."""
_CALLED = re.compile(
    r"(?:公司|企业|品牌|餐厅|咖啡厅|店|学校|补习班|医院|诊所|单位|机构|团队|乐团|乐队|社团|工作室|供应商|厂商|客户)(?:的?名[字称])?"
    r"(?:叫做?|叫作|名叫|名为|是叫)([\u4e00-\u9fff]{2,10})(?=[，。！？、；,.!?;\s]|\Z)"
)
_OPENS_NO_NAME = frozenset(
    "很就还没给被把让叫念找择支报在到去是的了着过吃喝玩买卖求想要用做每各某此该这那哪我你他她它们"
)
_IN_NO_NAME = re.compile(r"[的了很]|在|没有|不是|就是|地区|到(?=.{2})|(.)不\1")
_LOOSE_SUFFIXES = frozenset("国城海宫山")
"""Place suffixes that, after several characters, end phrases (老夫發國) as often as names."""
_GENERIC_LEFT = (
    "地区",
    "区域",
    "周边",
    "附近",
    "当地",
    "本地",
    "全国",
    "各地",
    "各大",
    "旁边",
    "那边",
    "这边",
    "线上",
    "网上",
)
_BRANCHES = re.compile(r"云(?![端上])|科技|集团|银行|汽车|健康|影业|金融|电机|电子")
"""Extends the name of a company to that of another one: 騰訊雲, 鴻海科技."""
_INDUSTRIES = frozenset({"科技", "电子", "电信", "电脑", "汽车", "保险", "证券", "航空", "石化"})
"""Suffixes that form a company's name after a name (鴻海科技), but not after a place (北京科技發展)."""
_ZONES = frozenset({"地区", "郊区", "市区", "城区", "城市", "山区", "农村", "乡村"})
_COMMON_ENDS = frozenset("感阵虫症店馆机器车船犬狗乡族款版剂素酸膏")
"""Characters that end nouns and no given name: 安全感, 毛毛蟲."""
_LISTED_ENDS = frozenset("人生曲鱼鸟派型式界物品片粉照率费玉糕茶酒菜面饭汤堡子头")
"""Characters that end nouns where the dictionary holds the word: 溫州人, 高中生."""
_DEGREE = ("有点", "有些", "很", "太", "比较", "挺", "好", "更", "最", "真", "偏", "略", "超", "蛮", "这么", "那么")
_SPOKEN_OF = re.compile(
    r"(?:叫做?|我是|[跟和与找问给请约见、]|遇[到见]|认识|喜欢|崇拜|朋友|同学|同事|老师|经理|老板|主管|教授|医生|歌手|演员|明星|导演"
    r"|作者|作家|队长|总统|[表堂]?[弟哥姐妹]|叔叔|舅舅|舅妈|婶婶|阿姨|姑姑|爸爸?|妈妈?|儿子|女儿|上司|下属|先生|太太|室友|邻居)$"
)
_SPEAKS = re.compile(
    r"(?:说|问|讲|表示|认为|告诉|觉得|唱|演|写|的(?:歌|电影|剧|戏|演唱会|生日|书|作品|声音|微博|粉丝|名字|电话|分机|老婆|老公)"
    r"|[你您]?(?:老师|先生|小姐|经理|同学)|[、和跟与也]|[，,]?[他她])"
)


def find_han_names(folded: str, words: Words) -> Iterator[Candidate]:
    """Finds Chinese names in a folded text.

    jieba's tags of names are wrong more often than right (文明 and 高達 are tagged as people), so a tagged word counts
    only with further evidence: a surname, characters used for foreign names, a suffix, a list.
    """
    for place, word in enumerate(words):
        if not is_han(word.text[0]):
            continue
        yield from _person(folded, words, place)
        yield from _suffixed(folded, words, place)
        yield from _place(word)
    yield from _listed(folded, words)
    yield from _transliterated(folded, words)
    for match in _CALLED.finditer(folded):
        if match.group(1) not in known.NOT_INTRODUCED and match.group(1)[0] not in _OPENS_NO_NAME:
            yield Candidate(*match.span(1), Layer.HAN, "han.introduced", 0.8, _ORGANISATION)
    for match in _NAMED.finditer(folded):
        if _is_full_name(match.group(1)) and match.group(1) not in known.STOP_NAMES:
            yield Candidate(*match.span(1), Layer.HAN, "han.introduced", 0.8, _PERSON)
    for match in _INTRODUCED.finditer(folded):
        if match.group(1) not in known.NOT_INTRODUCED and match.group(1)[0] not in "我你他她它什不了着过":
            subtype = None if match.group()[0] in _ANIMALS else _PERSON
            called = words[words.at(match.start(1))]
            if subtype and called.text == match.group(1) and called.listed and not called.tag.startswith("nr"):
                continue  # 我叫男朋友
            yield Candidate(*match.span(1), Layer.HAN, "han.introduced", 0.8, subtype)


@cache
def _lists() -> tuple[tuple[re.Pattern[str], EntitySubtype], ...]:
    return tuple(
        (re.compile("|".join(sorted(names, key=len, reverse=True))), subtype) for names, subtype in _WELL_KNOWN
    )


def _suffix_of(text: str, suffixes: tuple[str, ...]) -> str:
    """The first of the suffixes (longest first) that the text ends in, or an empty string."""
    return next((suffix for suffix in suffixes if text.endswith(suffix)), "") if text.endswith(suffixes) else ""


def _listed(folded: str, words: Words) -> Iterator[Candidate]:
    """Well-known names, also where jieba cuts them in two (台積·電)."""
    for pattern, subtype in _lists():
        for match in pattern.finditer(folded):
            if words.cuts_word(*match.span()):
                continue
            yield Candidate(*match.span(), Layer.HAN, "han.listed", 0.85, subtype)
            if subtype is _ORGANISATION and (branch := _BRANCHES.match(folded, match.end())):
                yield Candidate(match.start(), branch.end(), Layer.HAN, "han.branch", 0.8, subtype)


def _person(folded: str, words: Words, place: int) -> Iterator[Candidate]:
    word = words[place]
    following = words[place + 1] if place + 1 < len(words) else None
    end = following.end if following and following.text in known.PERSON_TITLES else 0
    own_title = _suffix_of(word.text, _TITLES)
    stem = word.text[: len(word.text) - len(own_title)]
    if own_title and stem and _is_full_or_short_name(stem):
        yield _titled(word.start, word.start + len(stem), word.end)
    elif end and _is_full_or_short_name(word.text) and not _is_term(word):
        yield _titled(word.start, word.end, end)
    if word.text in known.STOP_NAMES or word.text in known.PLACES or word.text in known.ORGANISATIONS:
        return
    if following and _is_surname(word.text) and following.tag.startswith("nr") and _is_given_name(following.text):
        yield Candidate(word.start, following.end, Layer.HAN, "han.person", 0.8, _PERSON)
    elif word.tag.startswith("nr") and len(word.text) > 1:
        if len(word.text) == 3 and following and word.text[-1] + following.text[0] in known.TIME_WORDS:
            yield Candidate(word.start, word.end - 1, Layer.HAN, "han.person", 0.7, _PERSON)  # 張偉·明天, not 張偉明·天
        elif _is_full_name(word.text):
            confidence = _person_confidence(folded, word)
            if confidence:
                yield Candidate(word.start, word.end, Layer.HAN, "han.person", confidence, _PERSON)
        elif all(character in known.TRANSLITERATION for character in word.text) and len(word.text) > 2:
            yield Candidate(word.start, word.end, Layer.HAN, "han.foreign", 0.65, _PERSON)
        elif word.text[0] in "阿小老" and not word.listed and len(word.text) <= 3:
            if folded[: word.start].endswith(_DEGREE):
                return
            yield Candidate(word.start, word.start + 2, Layer.HAN, "han.nickname", 0.65, _PERSON)
        elif not word.listed and len(word.text) == 2:
            yield Candidate(word.start, word.end, Layer.HAN, "han.given_name", 0.45, _PERSON)
    elif folded[: word.start].endswith(_DEGREE):
        return  # 有點小卡
    elif len(word.text) == 2 and word.text[0] in "老小阿" and word.text[1] in known.SURNAMES:
        yield Candidate(word.start, word.end, Layer.HAN, "han.nickname", 0.65, _PERSON)
    elif not word.listed and word.tag[:1] in "nxaj" and _is_full_name(word.text) and len(word.text) == 3:
        yield Candidate(word.start, word.end, Layer.HAN, "han.person", 0.55, _PERSON)


def _person_confidence(folded: str, word: Word) -> float:
    """Confidence that a word in the form of a full name is one; 0 for a noun.

    A dictionary word of two characters is as often a noun (孫子, 鮑魚) as a person, unless the context speaks of a
    person; a word with a doubled character is more often an adjective (白花花).
    """
    text = word.text
    spoken_of = _SPOKEN_OF.search(folded, max(0, word.start - 4), word.start) or _SPEAKS.match(folded, word.end)
    if len(text) == 3 and (text[-1] in _COMMON_ENDS or (word.listed and text[-1] in _LISTED_ENDS)):
        return 0.0
    if text[:-1] in known.PLACES:
        return 0.0  # 常州人
    if len(text) == 3 and (text[1] == text[2] or text[0] == text[1]):
        return 0.7 if spoken_of and text[0] != text[1] else 0.55
    if len(text) == 2 and word.listed:
        return 0.65 if spoken_of else 0.55
    return 0.8


def _is_term(word: Word) -> bool:
    """Whether a word in the form of a full name is a noun: 金融学 of 金融学教授."""
    return word.listed and len(word.text) > 2 and not word.tag.startswith("nr")


def _is_surname(text: str) -> bool:
    return text in known.COMPOUND_SURNAMES or (text in known.SURNAMES and text not in known.FUNCTION_SURNAMES)


def _is_given_name(text: str) -> bool:
    return len(text) <= 2 and text not in known.STOP_NAMES and text not in known.PERSON_TITLES


def _titled(start: int, name_end: int, title_end: int) -> Candidate:
    """A full name without its title (陳怡君), a short one with it (王經理), which alone identifies nobody."""
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
        if not word.listed and (word.text[0] in _OPENS_NO_NAME or _IN_NO_NAME.search(word.text)):
            return
        if word.text.endswith(tuple(_ZONES)):
            return
        loose = not word.listed and len(word.text) > 3 and word.text[-1] in _LOOSE_SUFFIXES
        suffixed = word.text.endswith(_PLACE_SUFFIXES) and not loose
        yield Candidate(
            word.start, word.end, Layer.HAN, "han.place", 0.55 if loose else 0.75 if suffixed else 0.6, _PLACE
        )


def _suffixed(folded: str, words: Words, place: int) -> Iterator[Candidate]:
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
        if (
            begins is not None
            and word.end - begins <= _MOST_CHARACTERS
            and _names(folded[begins : word.end], suffix, word)
        ):
            loose = suffix in _LOOSE_SUFFIXES and word.end - begins > 3 and not word.listed
            confidence = 0.55 if loose else 0.8
            yield Candidate(begins, word.end, Layer.HAN, f"han.{subtype.value}_suffix", confidence, subtype)
            return


def _names(text: str, suffix: str, word: Word) -> bool:
    """Whether a span with a suffix is a name: not a phrase (支在夜市), not a description (深圳地區銀行, 海濱城市)."""
    stem = text[: len(text) - len(suffix)]
    if text in known.STOP_NAMES or stem.endswith(_GENERIC_LEFT) or not stem:
        return False
    if text.endswith(tuple(_ZONES)) or (stem in known.PLACES and (suffix in _INDUSTRIES or suffix == "公司")):
        return False
    if suffix == "党" and not (word.listed and word.text == text):
        return False
    return text in known.PLACES or not (text[0] in _OPENS_NO_NAME or _IN_NO_NAME.search(stem))


def _department(words: Words, place: int) -> bool:
    text = words[place].text
    for suffix in ("部门", "部", "处", "组"):
        if text == suffix:
            return place > 0 and words[place - 1].text in known.DEPARTMENTS
        if text.endswith(suffix):
            return text[: -len(suffix)] in known.DEPARTMENTS
    return False


def _anchor(words: Words, place: int, suffix: str, subtype: EntitySubtype) -> int | None:
    """Start of the name that ends in this suffix: its leftmost proper word that is reached without a gap."""
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
    """Whether a word is a name followed by its suffix: 台灣·大學, not 電影·院."""
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
