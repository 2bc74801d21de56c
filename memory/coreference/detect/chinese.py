"""Finds Chinese reference expressions. All patterns are over folded (Simplified) text."""

import re
from collections.abc import Iterator
from dataclasses import replace

from ...language.han_tokens import Word, cut
from ...values.mentions import EntitySubtype
from .lexicon import ATTRIBUTES, CHINESE_PRONOUNS, CLASSIFIERS, NOUNS, OF_THINGS, VAGUE, Noun
from .references import Form, Kind, Number, Reference

_HAN_NOUNS = sorted((noun for noun in NOUNS if not noun.isascii() and len(noun) > 1), key=len, reverse=True)
_CLASSIFIER = "|".join(CLASSIFIERS)
# Measure words of time and of occasions: 這次, 這天, 那年 point into the clock, not at a thing (000 §3.2).
_TIME_AFTER = "次|天|年|月|周|回|时|下|会|晚|阵|辈子|段时间"

_NO_NOUN = frozenset("里边儿么样种")  # 這裡, 這麼, 這樣, 這種: manner and place

_PERSONAL = re.compile(r"[它牠祂他她]们?")
# Inside words: 其它 其他 吉他 維他命 排他; 他人 他鄉 他國 他日 他殺 他媽的 他們倆 stays a pronoun.
_INSIDE_BEFORE = "其吉维排利"
_INSIDE_AFTER = re.compile(r"他(?:人|乡|国|日|杀|山|妈的|妈(?!妈|是|在|呢))")

_DEMONSTRATIVE = re.compile(rf"[这那](?P<count>一|两|几|三|四|五)?(?P<some>些)?(?P<classifier>{_CLASSIFIER})?")
_FORMAL = re.compile(r"(?<![应不就也都早本活合理只])该|(?<![因如彼从为在对到由至])此|(?<![基根原日])本")
_SPEECH = "说|讲|提|聊|谈|讨论|介绍|推荐|问|讲到|提及"
_LONG_AGO = (
    "上次|上回|上一次|之前|先前|以前|那天|前几天|前两天|前阵子|大前天|前天|前晚|昨[天日晚]|今天|今早|去年|"
    "(?:上+|这)个?(?:周|星期|礼拜)[一二三四五六日天]?|(?:上+|这)个?月|"
    r"(?:\d{1,3}|[一两二三四五六七八九十])(?:天|周|个?星期|个?礼拜|个?月|年)(?:以前|之前|前)"
)
_WHEN = f"{_LONG_AGO}|刚才|刚刚|前面|上面|早些时候|最早|一开始"
_RECALL = re.compile(
    rf"(?:(?:我们|咱们|我|你|您)?(?:{_WHEN})(?:我们|咱们|我|你|您|有)?(?:{_SPEECH})(?:到|起|过|及)*(?:的|"
    rf"(?=[这那](?:{_CLASSIFIER}))))"
    rf"|(?:(?:你|您)(?:刚|所)?(?:{_SPEECH})(?:到|起|过|及)*的)"
    r"|(?:上述|前述|上文)的?"
)
_WITHIN = re.compile(
    r"刚|前面|上面|上述|前述|上文|(?:你|您)所?(?:说|讲|提|聊|谈|讨论|介绍|推荐|问)"
)  # points into this session only
# 你說的對, 你說的沒錯, 你說的是…: a verdict on what was said, not a thing.
# 上次說的那個做備份的系統: what it does, before the noun that it ends in.
_DESCRIBED = re.compile(rf"[^，,。！？!?；;的]{{1,12}}的(?=(?:{'|'.join(_HAN_NOUNS)}))")
_VERDICT = re.compile(r"(?:很|太|都|也|真)*(?:对|没错|是|有道理|好听|话|那样|这样|不错|不对|轻松|什么|啥|一样|时候)")
_CONTRAST = re.compile(r"(?P<former>前者)|(?P<latter>后者)|(?P<both>[两二]者)")
_PLACE = re.compile(r"那(?:里|边|儿)(?!来|么|些)")
_TIME = re.compile(r"那(?:个)?时候?(?![候而常不])")
_POSSESSIVE = re.compile(r"其")
_OF_THINGS = re.compile(rf"的?(?:{'|'.join(OF_THINGS)})")

_BARE_THIS = re.compile(
    r"是(?=什么|谁|啥|哪|多少|.*[吗么？?])|不是|叫什么|多少钱|怎么[用卖读写买装]|[能可会支好]\w*[吗么？?]|"
    r"的(?![时话确])"
)
_BARE_THAT = re.compile(r"是(?:什么|谁|啥|哪|多少|怎|不是|个|一)|叫什么|的[^话时确]")
# What may follow a 這個 that stands alone; 這個能大能小的箱子 points at what comes later in its own phrase.
_PREDICATE = re.compile(
    r"\s*(?:$|[^\w\s]|是|不是|多少|怎么|如何|好|贵|便宜|能(?!.*的)|可以|会|有|支持|要|在|叫|呢|吗|么|吧|啊|呀|和|"
    r"跟|与|比|行|很|太|真|也|都|更|最|还|适合|"
    r"需要|什么|哪|为什么|属于|的(?![时话确]))"
)
_HESITATION = re.compile(r"(?:\s*[，,、…。.～~—]|\s*嘛|\s*啥[，,])")
_FUNCTION = frozenset({"d", "c", "v", "p", "vn", "a", "ad"})
_NOMINAL = frozenset({"n", "nr", "nrt", "nrfg", "ns", "nt", "nz", "ng", "eng", "vn", "j", "l", "k", "an"})


def head_noun(text: str) -> tuple[str, Noun] | None:
    """The longest known noun that a folded noun phrase ends in."""
    for size in range(min(len(text), 4), 0, -1):
        if noun := NOUNS.get(text[-size:]):
            return text[-size:], noun
    return None


def _noun_run(folded: str, position: int) -> str:
    """The nominal words that start at `position`, at most three, as text."""
    rest = folded[position : position + _WINDOW]
    if rest[:1].isspace():
        position += len(rest) - len(rest.lstrip())
        rest = rest.lstrip()
    run: list[Word] = []
    for word in cut(rest):
        adjacent = word.start == (run[-1].end if run else 0)
        if len(run) == 3 or not adjacent or word.tag not in _NOMINAL or (word.text in VAGUE and run):
            break
        run.append(word)
    while len(run) > 1 and run[-1].text in ATTRIBUTES:
        run.pop()  # 那本書作者, 那位律師電話: the attribute asked for is not part of the reference
    if not run:
        return _known_noun(folded, position)
    return folded[position : position + run[-1].end]


_WINDOW = 24  # characters of the longest noun phrase: keeps detection linear in the text length


def _known_noun(folded: str, position: int) -> str:
    """The longest Han noun of the lexicon that starts at `position`."""
    sizes = range(4, 0, -1)
    words = (folded[position : position + size] for size in sizes)
    return next((word for word in words if word in NOUNS and not word.isascii()), "")


def _number(count: str | None, several: str | None) -> tuple[Number, int]:
    if several or count in ("几", "三", "四", "五"):
        return Number.PLURAL, 0
    return (Number.PLURAL, 2) if count == "两" else (Number.SINGULAR, 0)


def _phrase(
    text: str,
    span: tuple[int, int],
    run: str,
    classifier: str | None,
    *,
    kind: Kind = Kind.NOUN_PHRASE,
    number: Number | None = Number.SINGULAR,
    count: int = 0,
    across: bool = False,
) -> Reference | None:
    """A reference that ends in a noun: 那台機器, 該公司, 上次說的那個系統.

    Args:
        text: The text as given.
        span: Start of the reference, and the end of its part before the noun.
        run: The noun, folded; white space may stand before it.
        classifier: The measure word before it, if any.
        kind: Kind of the reference.
        number: Number of the reference.
        count: Number of antecedents, 0 where unknown.
        across: Whether it refers to an earlier session.
    """
    if run in VAGUE or any(run.endswith(word) for word in VAGUE if len(word) > 1):
        return None
    if run in ATTRIBUTES and run not in NOUNS:
        return None
    start, end = span
    ahead = text[end : end + _WINDOW]
    stop = end + len(ahead) - len(ahead.lstrip()) + len(run)
    counted = CLASSIFIERS.get(classifier or "", frozenset())
    known = head_noun(run)
    noun, facts = known or (run, Noun(counted))
    fits = (facts.subtypes & counted) or facts.subtypes or counted
    if fits == {EntitySubtype.PERSON}:
        person: bool | None = True
    else:
        person = False if known or EntitySubtype.PERSON not in fits else None
    return Reference(
        start,
        stop,
        text[start:stop],
        kind,
        number,
        person,
        facts.gender,
        fits,
        noun,
        across,
        count,
        quiet=known is None and kind is Kind.NOUN_PHRASE,
        chinese=True,
    )


def _recalls(text: str, folded: str) -> Iterator[Reference]:
    for match in _RECALL.finditer(folded):
        end = match.end()
        across = not _WITHIN.search(match[0]) or bool(re.search(_LONG_AGO, match[0]))
        pointer = _DEMONSTRATIVE.match(folded, end)
        after = pointer.end() if pointer else end
        number, count = _number(pointer["count"], pointer["some"]) if pointer else (None, 0)
        classifier = pointer["classifier"] if pointer else None
        described = _DESCRIBED.match(folded, after) if across else None
        if (run := _noun_run(folded, after)) or described:
            start, about = after, ""
            if not run and described:
                start, about, run = described.end(), text[after : described.end()], _known_noun(folded, described.end())
            found = _phrase(
                text,
                (match.start(), start),
                run,
                classifier,
                kind=Kind.RECALL,
                number=number,
                count=count,
                across=across,
            )
            if found:
                yield replace(found, called=run if across else "", about=about)
        elif match[0].startswith(("上述", "前述", "上文")) and not match[0].endswith("的"):
            continue
        elif not (_VERDICT.match(folded, after) and not pointer):
            subtypes = CLASSIFIERS.get(classifier or "", frozenset())
            person = True if subtypes == {EntitySubtype.PERSON} else None
            yield Reference(
                match.start(),
                after,
                text[match.start() : after],
                Kind.RECALL,
                number=number,
                subtypes=subtypes,
                across=across,
                count=count,
                person=person,
                chinese=True,
            )


def _demonstratives(text: str, folded: str) -> Iterator[Reference]:
    for match in _DEMONSTRATIVE.finditer(folded):
        start, end = match.span()
        if re.match(_TIME_AFTER, folded[end : end + 4]) or folded[end : end + 1] in {
            "里",
            "边",
            "儿",
            "么",
            "样",
            "种",
        }:
            continue
        number, count = _number(match["count"], match["some"])
        classifier = match["classifier"]
        if classifier and _opens_other_word(folded, end - 1):
            continue
        subtypes = CLASSIFIERS.get(classifier or "", frozenset())
        run = _noun_run(folded, end)
        if not classifier and not match["some"]:
            known = head_noun(run) if match[0] == "这" and run else None
            if known and known[0] == run:  # 這書, 這歌
                subtypes = known[1].subtypes
            elif match["count"] or not _bare(folded, start, end):
                continue
            else:
                run = ""
        if run:
            if found := _phrase(text, (start, end), run, classifier, number=number, count=count):
                yield found
        elif _PREDICATE.match(folded, end) and not _hesitates(folded, start, end):
            person = True if subtypes == {EntitySubtype.PERSON} else False if subtypes else None
            yield Reference(
                start,
                end,
                text[start:end],
                Kind.DEMONSTRATIVE,
                number=number,
                person=person,
                subtypes=subtypes,
                count=count,
                quiet=not subtypes,
                chinese=True,
            )


def _opens_other_word(folded: str, position: int) -> bool:
    """Whether an apparent measure word begins a function word: 那只能, 那所以, 那本來."""
    words = cut(folded[position : position + _WINDOW])
    return bool(words) and len(words[0].text) > 1 and words[0].listed and words[0].tag in _FUNCTION


def _bare(folded: str, start: int, end: int) -> bool:
    """Whether a 這 or 那 without a noun is a pronoun; at the head of a sentence 那 mostly means "then"."""
    if folded[start] == "这":
        return bool(_BARE_THIS.match(folded, end))
    return bool(_BARE_THAT.match(folded, end))


def _hesitates(folded: str, start: int, end: int) -> bool:
    """Whether it is a filler (那個，請問… / 這個嘛): at the head of a sentence and followed by a pause."""
    head = start == 0 or folded[start - 1] in "，,。！？!?；; \n"
    pause = _HESITATION.match(folded, end)
    return bool(head and pause and folded[pause.end() : pause.end() + _WINDOW].strip(" 。.…～~—")) or bool(
        re.match(r"\s*(?:嘛|[…～~—]|\.\.)", folded[end : end + _WINDOW])
    )


def _formal(text: str, folded: str) -> Iterator[Reference]:
    """該公司, 此系統, 本書; not 本公司 and 本店, which are the speaker's own."""
    for match in _FORMAL.finditer(folded):
        run = _known_noun(folded, match.end())
        if not run:
            continue
        subtypes = NOUNS[run].subtypes
        if match[0] == "本" and EntitySubtype.WORK not in subtypes and run != "系统":
            continue
        if found := _phrase(text, match.span(), run, None):
            yield found


def _pronouns(text: str, folded: str) -> Iterator[Reference]:
    words = {word.start: word for word in cut(folded)}
    for match in _PERSONAL.finditer(folded):
        start, end = match.span()
        if (start and folded[start - 1] in _INSIDE_BEFORE) or _INSIDE_AFTER.match(folded, start):
            continue
        pronoun = CHINESE_PRONOUNS[match[0]]
        person = pronoun.person
        if _OF_THINGS.match(folded, end):
            person = False
        if folded[end : end + 1] == "俩":
            end += 1
        yield Reference(
            start,
            end,
            text[start:end],
            Kind.PERSONAL,
            pronoun.number,
            person,
            pronoun.gender,
            chinese=True,
            count=2 if folded[end - 1] == "俩" else 0,
        )
    for match in _POSSESSIVE.finditer(folded):
        word = words.get(match.start())
        following = words.get(match.end())
        # A word of its own before a noun: 其價格; never 其他, 其實, 尤其.
        if word and word.text == "其" and following and following.tag in _NOMINAL and following.text not in VAGUE:
            yield Reference(
                match.start(),
                match.end(),
                text[match.start() : match.end()],
                Kind.PERSONAL,
                None,
                form=Form.POSSESSIVE,
                chinese=True,
            )


def _fixed(text: str, folded: str) -> Iterator[Reference]:
    for match in _CONTRAST.finditer(folded):
        kind = {"former": Kind.FORMER, "latter": Kind.LATTER, "both": Kind.BOTH}[match.lastgroup or "both"]
        number = Number.PLURAL if kind is Kind.BOTH else Number.SINGULAR
        count = 2 if kind is Kind.BOTH else 0
        yield Reference(*match.span(), text[match.start() : match.end()], kind, number, count=count, chinese=True)
    place = frozenset({EntitySubtype.PLACE, EntitySubtype.ORGANISATION})
    for match in _PLACE.finditer(folded):
        start, end = match.span()
        yield Reference(start, end, text[start:end], Kind.PLACE, person=False, subtypes=place, quiet=True, chinese=True)
    for match in _TIME.finditer(folded):
        start, end = match.span()
        yield Reference(
            start,
            end,
            text[start:end],
            Kind.TIME,
            subtypes=frozenset({EntitySubtype.EVENT}),
            person=False,
            quiet=True,
            chinese=True,
        )


def chinese_references(text: str, folded: str) -> Iterator[Reference]:
    """All Chinese references, in no order and possibly overlapping."""
    for finder in (_recalls, _demonstratives, _formal, _pronouns, _fixed):
        yield from finder(text, folded)
