"""Explains in one line, in the language of the query, why an antecedent was chosen."""

from collections.abc import Sequence

from ...values.mentions import EntitySubtype
from ...values.resolutions import ReferenceSource
from ...values.text import has_han, is_traditional, to_simplified
from ..antecedents.candidates import Candidate
from ..antecedents.ranking import Ranked
from ..detect.references import Number

_CHINESE_TYPES = {
    EntitySubtype.PERSON: "人物",
    EntitySubtype.ORGANISATION: "組織",
    EntitySubtype.PLACE: "地點",
    EntitySubtype.PRODUCT: "產品",
    EntitySubtype.WORK: "作品",
    EntitySubtype.EVENT: "事件",
    EntitySubtype.CODE: "編號",
}


def _rounds(candidate: Candidate) -> int:
    """Exchanges (message and reply) back from the query."""
    return (candidate.distance + 1) // 2


def _chinese(best: Candidate, ranked: Sequence[Ranked]) -> str:
    kind = _CHINESE_TYPES.get(best.subtype, "事物") if best.subtype else "事物"
    if best.source is ReferenceSource.LONG_TERM:
        where = "長期記憶中的"
    else:
        back = _rounds(best)
        where = "同一句提到的" if back == 0 else "上一輪提到的" if back == 1 else f"{back} 輪前提到的"
    number = "複數" if best.number is Number.PLURAL else "單數"
    if len(ranked) == 1:
        return f"{where}{kind}，唯一符合的{number}事物"
    second = ranked[1]
    return f"{where}{kind}，比「{second.candidate.text}」更符合（{ranked[0].score:.2f} 對 {second.score:.2f}）"


def _english(best: Candidate, ranked: Sequence[Ranked]) -> str:
    kind = best.subtype.value if best.subtype else "thing"
    if best.source is ReferenceSource.LONG_TERM:
        where = "in long-term memory"
    else:
        back = _rounds(best)
        where = "mentioned, in the same message" if back == 0 else f"mentioned, {back} turn{'s' * (back > 1)} ago"
    if len(ranked) == 1:
        return f"the only {'group' if best.members else kind} that fits {where}"
    second = ranked[1]
    return f"{kind} {where}; fits better than {second.candidate.text} ({ranked[0].score:.2f} to {second.score:.2f})"


def reason(query: str, ranked: Sequence[Ranked]) -> str:
    """Why the first of `ranked` was chosen; in Simplified characters unless the query is in Traditional."""
    best = ranked[0].candidate
    if not has_han(query):
        return _english(best, ranked).replace("that fits mentioned", "mentioned")
    text = _chinese(best, ranked)
    return text if is_traditional(query) else to_simplified(text)


def copy_reason(query: str, turns_back: int | None, *, left_out: bool) -> str:
    """Where a trained rewriter copied an antecedent from.

    Args:
        query: The original query.
        turns_back: Distance of its turn; None for long-term memory.
        left_out: Whether it fills a gap.
    """
    back = 0 if turns_back is None else (turns_back + 1) // 2
    if not has_han(query):
        where = "long-term memory" if turns_back is None else f"{back} turn{'s' * (back > 1)} ago"
        return f"{'left out; ' if left_out else ''}the rewriting model took it from {where}"
    where = "長期記憶" if turns_back is None else "上一輪" if back == 1 else f"{back} 輪前"
    text = f"{'補上省略的部分，' if left_out else ''}改寫模型取自{where}"
    return text if is_traditional(query) else to_simplified(text)
