"""Says in one line, in the language and script of the query, where an antecedent was found."""

from collections.abc import Sequence

from ..values.text import has_han, to_simplified, writes_simplified
from ..values.understanding.mentions import EntitySubtype
from ..values.understanding.resolutions import Alternative

_CHINESE_TYPES = {
    EntitySubtype.PERSON: "人物",
    EntitySubtype.ORGANISATION: "組織",
    EntitySubtype.PLACE: "地點",
    EntitySubtype.PRODUCT: "產品",
    EntitySubtype.WORK: "作品",
    EntitySubtype.EVENT: "事件",
    EntitySubtype.CODE: "編號",
}


def reason(
    query: str,
    *,
    exchanges_back: int | None,
    subtype: EntitySubtype | None,
    left_out: bool,
    others: Sequence[Alternative],
) -> str:
    """Why this antecedent was chosen; in Simplified characters where the query is.

    Args:
        query: As the user wrote it.
        exchanges_back: Exchanges since the antecedent was mentioned; None for long-term memory.
        subtype: Its type, where known.
        left_out: Whether it fills a gap.
        others: Other antecedents that were considered, best first.
    """
    if has_han(query):
        text = _chinese(exchanges_back, subtype, left_out, others)
        return to_simplified(text) if writes_simplified(query) else text
    return _english(exchanges_back, subtype, left_out, others)


def named_by_the_user(message: str) -> str:
    """The reason of an antecedent that the user named."""
    if not has_han(message):
        return "the user said so"
    text = "使用者指明的"
    return to_simplified(text) if writes_simplified(message) else text


def _chinese(
    exchanges_back: int | None, subtype: EntitySubtype | None, left_out: bool, others: Sequence[Alternative]
) -> str:
    places = {None: "長期記憶中的", 0: "同一句提到的", 1: "上一輪提到的"}
    where = places.get(exchanges_back) or f"{exchanges_back} 輪前提到的"
    kind = _CHINESE_TYPES[subtype] if subtype else "事物"
    rival = f"，比「{others[0].text}」更可能" if others else ""
    return f"{'補上省略的：' if left_out else ''}{where}{kind}{rival}"


def _english(
    exchanges_back: int | None, subtype: EntitySubtype | None, left_out: bool, others: Sequence[Alternative]
) -> str:
    places = {None: "in long-term memory", 0: "mentioned in the same message", 1: "mentioned 1 turn ago"}
    where = places.get(exchanges_back) or f"mentioned {exchanges_back} turns ago"
    rival = f"; more likely than {others[0].text}" if others else ""
    return f"{'left out: ' if left_out else ''}{subtype.value if subtype else 'thing'} {where}{rival}"
