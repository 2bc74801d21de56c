"""Finds the gap in questions that leave out their topic: 「那價格呢？」, "what about the battery?", 「多少錢？」.

Only two forms count: a bare attribute, and a question without the subject of its predicate.
"""

import re

from ...values.text import fold_lower
from .lexicon import ATTRIBUTES
from .references import Form, Kind, Reference

_ATTRIBUTE = "|".join(sorted(map(re.escape, ATTRIBUTES), key=len, reverse=True))
_ASKED = (
    r"(?:是多少|多少|是谁|是什么|在哪里?|怎么样|如何|好不好|好吗|高吗|大吗|贵吗|长吗|呢|多大|多长|多高|多重|有哪些)"
)
_CHINESE_OWNER = re.compile(rf"^(?:那么|那|还有|然后)?[，,]?\s*(?P<attribute>{_ATTRIBUTE}){_ASKED}\s*[？?]*$")
_ENGLISH_OWNER = re.compile(
    rf"^(?:and |so |but |ok,? |okay,? )*(?:what about |how about |what is |what's |what are |how is |how's |and "
    rf")?(?P<attribute>the (?:{_ATTRIBUTE}))\s*\?*$"
)
_PREDICATE = re.compile(
    r"^(?:那么?(?=[多在怎好贵有是])|请问)?(?P<gap>)"
    r"(?:多少钱|多大了?|多高|多重|在(?:哪|什么地方)|怎么(?:样|用|卖|去|走)|是(?:什么|谁|啥|哪)|好(?:看|吃|玩|用|听|"
    r"喝|不好)|贵(?:吗|不贵)|漂亮|厉害|"
    r"有(?:什么|哪些|多[大少高重长])|属于|为什么(?:这么|那么)|哪里有|哪里买|几岁|叫什么)"
    r"[\w]{0,8}[？?]*$"
)
_NO_GAP = re.compile(
    r"[你我您咱它他她这那]|怎么办|是什么意思|大家|有什么(?:事|办法|关系|好|用|建议|推荐|问题)|是什么(?:鬼|情况|梗)|"
    r"叫什么名|怎么样了|在哪(?:里|儿)?[啊呀了]|是谁说|呵|哈"
)


def find_ellipsis(text: str) -> Reference | None:
    """The gap of a question; None where it has none.

    Returns:
        A possessive reference with the span of an attribute without owner, or a plain one with an empty span before
        a predicate without subject.
    """
    folded = fold_lower(text)
    for pattern, chinese in ((_CHINESE_OWNER, True), (_ENGLISH_OWNER, False)):
        if match := pattern.match(folded.strip()):
            lead = len(folded) - len(folded.lstrip())
            start, end = match.start("attribute") + lead, match.end("attribute") + lead
            return Reference(
                start, end, text[start:end], Kind.ELLIPSIS, None, form=Form.POSSESSIVE, quiet=True, chinese=chinese
            )  # fmt: skip
    match = _PREDICATE.match(folded)
    if match and not _NO_GAP.search(folded[match.start("gap") :]):
        start = match.start("gap")
        return Reference(start, start, "", Kind.ELLIPSIS, None, quiet=True, chinese=True)
    return None
