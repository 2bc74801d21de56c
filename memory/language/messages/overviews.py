"""What a message that asks for an overview names: "what do you know about Ivy?", 「把我的嗜好列出來」."""

import re
from collections.abc import Mapping
from functools import cache

from ...values.text import fold_lower, has_han
from ..keywords import KeywordAnalyzer
from ..word_lists import entries

KINDS: Mapping[str, re.Pattern[str]] = {
    predicates: re.compile(words)
    for predicates, words in {
        "hobby instrument habit member_of": r"\bhobb(?:y|ies)\b|\bpastimes?\b|\binterests?\b|\b(?:free|spare) time\b"
        r"|spend my (?:time|weekends?)|嗜好|爱好|兴趣|休闲|消遣|空闲|闲着|闲的时候|课余|下班后",
        "allergic_to": r"\ballerg\w+|过敏",
        "medication": r"\bmedicines?\b|\bmedications?\b|\bmeds\b|\bpills\b|\btablets\b|\bprescriptions?\b|药",
        "condition medication allergic_to doctor diet": r"\bhealth\b|\bmedical\b|健康|身体|病史|毛病",
        "spouse partner child parent sibling relative": r"\bfamily\b|\brelatives\b"
        r"|家人|家里人?|家庭|亲人|亲戚|我们?家(?![附旁门])",
        "child": r"\bkids\b|\bchildren\b|孩子|小孩",
        "sibling": r"\bsiblings\b|\bbrothers\b|\bsisters\b|兄弟|姐妹",
        "pet": r"\bpets\b|\banimals\b|宠物|毛孩|毛小孩",
        "friend": r"\bfriends\b|\bmates\b|\bbuddies\b|朋友",
        "colleague manager": r"\bcolleagues\b|\bco-?workers\b|同事",
        "works_at occupation works_on responsible_for": r"\b(?:job|work|career)\b|工作|上班|职业|事业",
        "studies_at major learning graduated_from": r"\b(?:school|studies|degree|courses?|classes)\b|学校|学业|课",
        "plans scheduled_at travels_to goal deadline wants": r"\bplans?\b|\bplann(?:ed|ing)\b|\bupcoming\b"
        r"|\bschedule\b|\bappointments\b|\bcoming up\b|\bgoals\b|计划|打算|安排|待办|预约|目标",
        "travels_to visited": r"\btrips\b|\btravels\b|\bholidays\b|\bvacations\b|旅行|旅游|出国",
        "likes favourite prefers eats": r"(?<!how )\b(?:i|we) (?:really )?(?:like|love|enjoy)\b|\blikes\b"
        r"|\bpreferences\b|\bfavou?rites?\b|(?<!不)喜欢|偏好|喜好|爱吃|口味",
        "dislikes": r"\bdislikes?\b|\bhates?\b|can't stand|讨厌|不喜欢|不爱|害怕",
        "diet allergic_to dislikes eats": r"can(?:'t|not)? (?:i )?eat|\bdiet\b|不能[吃碰]|忌口|饮食",
        "owns drives uses": r"\bbelongings\b|\bpossessions\b|\bi own\b|\bgadgets\b|\bdevices\b|\belectronics\b"
        r"|\bvehicles\b|拥有|财产|电子|设备|家电|手边|3c",
        "subscribes_to": r"\bsubscri\w+|订阅|会员",
        "speaks": r"\blanguages\b|语言",
        "skill certificate speaks instrument": r"\bskills\b|\bcertificates\b|技能|证照|证书",
    }.items()
}
"""For each kind of thing that is listed, the predicates of facts about it and its words, in folded text."""


def predicates_named(text: str) -> frozenset[str]:
    """The predicates of facts of the kinds that a text names: of "my pets and hobbies", those of both."""
    folded = fold_lower(text)
    return frozenset(name for names, words in KINDS.items() if words.search(folded) for name in names.split())


def topic_terms(text: str, analyzer: KeywordAnalyzer) -> frozenset[str]:
    """The terms of a text that asks for an overview, without the words that ask and without kinds of things."""
    rest = _asking_words().sub(" ", fold_lower(text))
    for words in KINDS.values():
        rest = words.sub(" ", rest)
    return frozenset(analyzer.content_terms(rest))


@cache
def _asking_words() -> re.Pattern[str]:
    words = sorted(entries("overview_words"), key=len, reverse=True)
    han = "|".join(re.escape(word) for word in words if has_han(word))
    latin = "|".join(re.escape(word) for word in words if not has_han(word))
    return re.compile(rf"\b(?:{latin})(?:'(?:s|ve|re|d|ll))?\b|{han}")
