"""Relations that a text states explicitly: 王小明在台積電工作, "Alice works at Acme" (000 §4.2).

Patterns match a text in which every name is replaced by a placeholder character, so that they describe only the words
between two names. Questions, denials, suppositions, past states and quotations state no relation.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ..extraction.assertions import assertions_of
from ..values.text import fold
from ..values.understanding.mentions import EntitySubtype, Mention, MentionLevel


class RelationType(StrEnum):
    """The type of a learned relation, read from source to target."""

    MENTIONED_WITH = "mentioned_with"
    """Mentioned in one message; the only type without a direction."""
    WORKS_AT = "works_at"
    RESPONSIBLE_FOR = "responsible_for"
    LOCATED_IN = "located_in"
    LIVES_IN = "lives_in"
    PART_OF = "part_of"
    USES = "uses"
    MADE_BY = "made_by"
    LIKES = "likes"
    BOUGHT = "bought"


@dataclass(frozen=True, slots=True)
class RelationClaim:
    """A relation that a text states, with its confidence in 0–1 and the half-open offsets of the words that state it.

    `source` is None where the speaker is the source (我在台積電工作).
    """

    source: Mention | None
    target: Mention
    relation_type: RelationType
    confidence: float
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A regular expression whose groups `source` and `target` match lists of placeholders.

    Attributes:
        relation_type: The type that it states.
        regex: Matches the text with placeholders.
        base_confidence: The confidence for names that are certain.
        targets: Allowed subtypes of the target; None for any.
        not_sources: Forbidden subtypes of the source.
    """

    relation_type: RelationType
    regex: re.Pattern[str]
    base_confidence: float
    targets: frozenset[EntitySubtype | None] | None = None
    not_sources: frozenset[EntitySubtype | None] = frozenset()


_FIRST, _LAST = 0xE000, 0xF8FF
_E = f"[{chr(_FIRST)}-{chr(_LAST)}]"
_AND = r"(?:[、，,]|\s?(?:和|与|跟|及|以及)\s?|,? and | & )"
_GROUP = rf"{_E}(?:{_AND}{_E}){{0,4}}"
_SELF_HAN = r"(?<![\u4e00-\u9fff])(?:我们?|咱们?|本人)(?:公司|团队|部门|家|这边)?"
_SELF_LATIN = r"(?<![\w'])(?:I|we|We)(?:'m|'ve|'re)?"
_S_HAN = rf"(?P<source>{_GROUP}|{_SELF_HAN})"
_S_LATIN = rf"(?P<source>{_GROUP}|{_SELF_LATIN})"
_T = rf"(?P<target>{_GROUP})"
_ADVERB = (
    r"(?:\s?(?:目前|现在|现任|一直|一向|也|都|就|已经?|正在?|主要|平常|平时|最近|今年|去年|上个?月|上周|上星期"
    r"|昨天|今天|刚刚?|又|还|很"
    r"|真的|非常|最|特别|超级?|蛮|挺|开始|后来|终于|其实|每天|常常|经常|总是|们)){0,3}\s?"
)
_ADVERBS = (
    r"(?:,? (?:also|now|currently|really|still|just|already|recently|always|actually|both|all|has|have|had|been"
    r"|is|are|am"
    r"|was|were|finally|often|usually|mainly|absolutely|do|does)){0,3} "
)
_COUNTED = (
    r"(?:了|过|着|的是|到了?)?\s?(?:[一二两三四五几]|\d{1,4})?\s?(?:台|部|个|款|套|本|家|辆|支|件|条|间"
    r"|把|张|组|位)?(?:新的?|二手|那[台部款本]|这[台部款本])?\s?"
)
_ARTICLES = r"(?: (?:a|an|the|some|his|her|our|their|its|my|new|two|three|several|\d{1,4})){0,3} "
_ROLE = r"(?:\s?(?:an?|the|our|its|their|[a-z][a-z-]{2,15})){1,4}"
_JOB_HAN = (
    r"(?:工作|上班|任职|就职|服务|做事|实习|教书|当[\u4e00-\u9fff]{2,6}|担任[\u4e00-\u9fff]{2,8}"
    r"|做(?:工程师|研发|业务|设计|行政))"
)
_JOBS_HAN = (
    r"(?:员工|工程师|经理|总经理|主管|执行长|董事长|总裁|创办人|老板|教授|老师|医生|医师|研究员|业务"
    r"|秘书|设计师|会计|顾问|学生)"
)
_PLACES = frozenset({EntitySubtype.PLACE})
_PERSONS = frozenset({EntitySubtype.PERSON})
_EMPLOYERS = frozenset({None, EntitySubtype.ORGANISATION, EntitySubtype.PLACE, EntitySubtype.PRODUCT})


def _pattern(
    relation_type: RelationType,
    regex: str,
    base_confidence: float = 0.85,
    *,
    targets: frozenset[EntitySubtype | None] | None = None,
    not_sources: frozenset[EntitySubtype | None] = frozenset(),
) -> _Pattern:
    return _Pattern(relation_type, re.compile(regex), base_confidence, targets, not_sources)


_PATTERNS: tuple[_Pattern, ...] = (
    _pattern(
        RelationType.WORKS_AT,
        rf"{_S_HAN}{_ADVERB}(?:在|于)\s?{_T}\s?(?:公司|那边|里)?\s?{_JOB_HAN}",
        targets=_EMPLOYERS,
    ),
    _pattern(
        RelationType.WORKS_AT, rf"{_S_HAN}{_ADVERB}(?:任职于|就职于|服务于|受雇于|任教于)\s?{_T}", targets=_EMPLOYERS
    ),
    _pattern(
        RelationType.WORKS_AT,
        rf"(?:在|于)\s?(?P<target>{_E})\s?(?:工作|上班|任职)的[\u4e00-\u9fff]{{0,4}}?(?P<source>{_E})",
        targets=_EMPLOYERS,
    ),
    _pattern(
        RelationType.WORKS_AT,
        rf"{_S_HAN}{_ADVERB}是\s?(?P<target>{_E})\s?的[\u4e00-\u9fff]{{0,4}}{_JOBS_HAN}",
        0.8,
        targets=_EMPLOYERS,
    ),
    _pattern(
        RelationType.WORKS_AT,
        rf"{_S_LATIN}{_ADVERBS}(?:work(?:s|ing)?|interns?|teach(?:es)?)(?: as{_ROLE})?(?: part-time"
        rf"| full-time)? (?:at|for){_ARTICLES}?{_T}".replace(f"{_ARTICLES}?", r"(?: the)? "),
        targets=_EMPLOYERS,
    ),
    _pattern(RelationType.WORKS_AT, rf"{_S_LATIN}(?: is| am| are|'s){_ROLE} at {_T}", 0.8, targets=_EMPLOYERS),
    _pattern(
        RelationType.RESPONSIBLE_FOR,
        rf"{_S_HAN}{_ADVERB}(?:负责|主导|带领|管理|维护|接手|掌管)(?:的是|了)?\s?(?:整个|这个)?\s?{_T}",
    ),
    _pattern(
        RelationType.RESPONSIBLE_FOR,
        rf"(?P<target>{_E})\s?(?:是|都是)?由\s?(?P<source>{_GROUP})\s?(?:负责|主导|带领|管理|维护|接手)",
    ),
    _pattern(
        RelationType.RESPONSIBLE_FOR,
        rf"{_S_LATIN}{_ADVERBS}(?:responsible for|in charge of|leads?|manages?|maintains?|runs?)(?: the)? {_T}",
    ),
    _pattern(
        RelationType.LOCATED_IN,
        rf"{_S_HAN}{_ADVERB}(?:位于|位在|坐落于|坐落在|设在|地址在|总部在|总部位于|地处)\s?{_T}",
        not_sources=_PERSONS,
    ),
    _pattern(
        RelationType.LOCATED_IN,
        rf"(?P<source>{_E})\s?(?:就|也|都)?在\s?{_T}(?=[，,。；;！!\s]|附近|旁边|市区|境内|$)",
        0.75,
        targets=_PLACES,
        not_sources=_PERSONS,
    ),
    _pattern(
        RelationType.LOCATED_IN,
        rf"(?P<source>{_E})的(?:地点|位置|地址|总部|所在地)(?:就?是|在|设在|位于)\s?{_T}",
        targets=_PLACES,
        not_sources=_PERSONS,
    ),
    _pattern(
        RelationType.LOCATED_IN,
        rf"(?P<source>{_GROUP})(?: is| are| was)?(?:,)? (?:located|based|situated|headquartered) (?:in|at"
        rf"|near) (?:the )?{_T}",
        not_sources=_PERSONS,
    ),
    _pattern(
        RelationType.LOCATED_IN,
        rf"(?P<source>{_E}) (?:is|are) (?:[a-z]+ ){{0,4}}in (?:the )?{_T}",
        0.75,
        targets=_PLACES,
        not_sources=_PERSONS,
    ),
    _pattern(RelationType.LIVES_IN, rf"{_S_HAN}{_ADVERB}(?:住在|定居在?|搬到了?|搬去了?|住)\s?{_T}", targets=_PLACES),
    _pattern(
        RelationType.LIVES_IN,
        rf"{_S_LATIN}{_ADVERBS}(?:lives?|living|resides?|settled|moved)(?: in| to)(?: the)? {_T}",
        targets=_PLACES,
    ),
    _pattern(RelationType.PART_OF, rf"{_S_HAN}{_ADVERB}(?:属于|隶属于?|归属于?|归)\s?{_T}"),
    _pattern(
        RelationType.PART_OF,
        rf"{_S_HAN}{_ADVERB}是\s?(?P<target>{_E})\s?(?:的|旗下的?|底下的?)\s?(?:一部分|一个部门|部门|子公司"
        rf"|分公司|子品牌|品牌|产品线|产品|成员|模块|模组)",
    ),
    _pattern(
        RelationType.PART_OF,
        rf"(?P<source>{_GROUP}) (?:is|are) (?:a |an |the )?(?:part|subsidiary|division|member|module|branch"
        rf"|brand|department|component|unit) of (?:the )?{_T}",
    ),
    _pattern(RelationType.PART_OF, rf"(?P<source>{_GROUP}) belongs? to (?:the )?{_T}"),
    _pattern(RelationType.USES, rf"{_S_HAN}{_ADVERB}(?:使用|采用|改用|用)(?:的是|了|着)?\s?{_T}", 0.8),
    _pattern(
        RelationType.USES,
        rf"{_S_LATIN}{_ADVERBS}(?:uses?|using|adopt(?:s|ed)|runs? on|relies on|switched to)(?: the| an?)? {_T}",
    ),
    _pattern(
        RelationType.MADE_BY,
        rf"(?P<source>{_GROUP})\s?(?:是|都是)?由?\s?{_T}\s?(?:所|团队|公司)?(?:开发|制造|生产|推出|设计|打造"
        rf"|出品|研发|发明|写)的",
    ),
    _pattern(
        RelationType.MADE_BY,
        rf"(?P<source>{_GROUP})\s?(?:是|都是)?由\s?{_T}\s?(?:所|团队|公司)?(?:开发|制造|生产|推出|设计|打造|出品"
        rf"|研发|发明)",
    ),
    _pattern(
        RelationType.MADE_BY,
        rf"(?P<target>{_E}){_ADVERB}(?:开发|制造|生产|推出|设计|打造|研发|发明)(?:了|出)?\s?(?P<source>{_GROUP})",
    ),
    _pattern(
        RelationType.MADE_BY,
        rf"(?P<source>{_GROUP})(?: is| are| was| were)?,? (?:made|developed|built|produced|created|designed"
        rf"|released|manufactured|written) by (?:the )?{_T}",
    ),
    _pattern(
        RelationType.MADE_BY,
        rf"(?P<target>{_E}){_ADVERBS}(?:makes?|made|develops?|developed|built|creates?|created|produces?"
        rf"|designed|manufactures?|released)(?: the)? (?P<source>{_GROUP})",
    ),
    _pattern(
        RelationType.LIKES,
        rf"{_S_HAN}{_ADVERB}(?:喜欢|喜爱|热爱|最爱|爱上|迷上|爱|偏好)(?:了)?\s?(?:看|吃|听|用|去|喝|玩|读)?\s?{_T}",
    ),
    _pattern(
        RelationType.LIKES,
        rf"{_S_LATIN}{_ADVERBS}(?:likes?|loves?|enjoys?|prefers?|adores?|a (?:big |huge )?fan of"
        rf"|fond of)(?: (?:watching|reading|eating|using|visiting|listening to|playing))?(?: the)? {_T}",
    ),
    _pattern(
        RelationType.BOUGHT, rf"{_S_HAN}{_ADVERB}(?:买了?|购买了?|采购了?|订购了?|订了|入手了?|购入了?){_COUNTED}{_T}"
    ),
    _pattern(RelationType.BOUGHT, rf"{_S_LATIN}{_ADVERBS}(?:bought|purchased|ordered|acquired){_ARTICLES}{_T}"),
)


def find_relations(text: str, mentions: Sequence[Mention]) -> list[RelationClaim]:
    """The relations that a text states between the entities it mentions, or between its speaker and one of them.

    Args:
        text: The original text, into which the mentions' offsets point.
        mentions: Mentions in text order, without overlaps.
    """
    named = [mention for mention in mentions if mention.level is MentionLevel.LONG_TERM and mention.entity_id]
    if not named:
        return []
    masked = _MaskedText(text, named[: _LAST - _FIRST])
    claims: dict[tuple[str, str, RelationType], RelationClaim] = {}
    for pattern in _PATTERNS:
        for match in pattern.regex.finditer(masked.text):
            for claim in _claims_of(text, pattern, match, masked):
                key = (
                    claim.source.entity_id or "" if claim.source else "",
                    claim.target.entity_id or "",
                    claim.relation_type,
                )
                if key not in claims or claims[key].confidence < claim.confidence:
                    claims[key] = claim
    return list(claims.values())


class _MaskedText:
    """A folded text in which a placeholder character stands for each mention."""

    def __init__(self, text: str, named: Sequence[Mention]) -> None:
        folded = "".join(" " if _FIRST <= ord(character) <= _LAST else character for character in fold(text))
        self.named = named
        parts: list[str] = []
        self._origins: list[int] = []
        position = 0
        for number, mention in enumerate(named):
            parts.append(folded[position : mention.start])
            self._origins += range(position, mention.start)
            parts.append(chr(_FIRST + number))
            self._origins.append(mention.start)
            position = mention.end
        parts.append(folded[position:])
        self._origins += range(position, len(folded) + 1)
        self.text = "".join(parts)

    def mentions(self, span: str) -> list[Mention]:
        """The mentions whose placeholders are in a part of the masked text."""
        return [self.named[ord(character) - _FIRST] for character in span if _FIRST <= ord(character) <= _LAST]

    def origin(self, offset: int) -> int:
        """The offset in the original text of a character of the masked text."""
        return self._origins[offset]


def _claims_of(text: str, pattern: _Pattern, match: re.Match[str], masked: _MaskedText) -> Iterator[RelationClaim]:
    sources: list[Mention] | list[None] = masked.mentions(match["source"]) or [None]
    targets = masked.mentions(match["target"])
    last_mention_end = max(mention.end for mention in (*sources, *targets) if mention is not None)
    start, end = masked.origin(match.start()), max(last_mention_end, masked.origin(match.end() - 1) + 1)
    if not assertions_of(text).asserts(start, end):
        return
    for source in sources:
        for target in targets:
            if source is not None and (source.entity_id == target.entity_id or source.subtype in pattern.not_sources):
                continue
            if pattern.targets is not None and target.subtype not in pattern.targets:
                continue
            certainty = target.confidence if source is None else min(source.confidence, target.confidence)
            confidence = round(pattern.base_confidence * certainty, 3)
            yield RelationClaim(source, target, pattern.relation_type, confidence, start, end)
