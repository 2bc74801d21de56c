"""Words for people of the speaker by what they are to them, in Chinese and English."""

from collections.abc import Iterable, Mapping

from ..values.text import has_han

RELATIONS: Mapping[str, str] = {
    **dict.fromkeys(("husband", "wife", "老公", "老婆", "先生", "太太", "丈夫", "妻子"), "spouse"),
    **dict.fromkeys(("boyfriend", "girlfriend", "partner", "男友", "女友", "男朋友", "女朋友"), "partner"),
    **dict.fromkeys(("boss", "manager", "主管", "老板", "经理"), "manager"),
    **dict.fromkeys(("roommate", "flatmate", "housemate", "室友"), "roommate"),
    **dict.fromkeys(("dog", "cat", "pet", "狗", "猫"), "pet"),
    **dict.fromkeys(("brother", "sister", "哥哥", "弟弟", "姐姐", "妹妹", "哥", "弟", "姐", "妹"), "sibling"),
    **dict.fromkeys(("son", "daughter", "儿子", "女儿"), "child"),
    **dict.fromkeys(("mother", "mum", "mom", "father", "dad", "妈妈", "爸爸", "妈", "爸"), "parent"),
}
"""Folded words for one person or animal of the speaker, and the predicate that says who it is."""
OTHERS = (
    "friend", "colleague", "coworker", "neighbour", "neighbor", "landlord", "teacher", "doctor", "uncle", "aunt",
    "cousin", "grandma", "grandpa", "grandmother", "grandfather", "朋友", "同事", "同学", "邻居", "房东",
    "老师", "医生", "爷爷", "奶奶", "外公", "外婆", "岳父", "岳母", "公公", "婆婆", "叔叔", "阿姨", "舅舅",
    "阿公", "阿嬷", "姑姑", "姊姊", "姊", "孩子", "小孩",
)  # fmt: skip
"""Folded words for people of whom a speaker may have several."""


def any_of(words: Iterable[str]) -> str:
    """A pattern for one of these words, a Latin one from its begin, of several that fit the longest."""
    ordered = sorted(words, key=len, reverse=True)
    latin, han = [word for word in ordered if not has_han(word)], [word for word in ordered if has_han(word)]
    return rf"\b(?:{'|'.join(latin)})\b|{'|'.join(han)}"
