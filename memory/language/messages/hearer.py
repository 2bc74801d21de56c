"""What a message asks of the one who is addressed: who or how that is, or an opinion; in Chinese and English."""

import re
from collections.abc import Sequence
from enum import Enum, auto

from ...values.text import fold_lower, to_simplified
from ..questions import is_question, speaks_of_hearer, speaks_of_self
from .set_phrases import parts_of, set_phrase


class HearerQuestion(Enum):
    """What is asked about the one who is addressed: who that is and what it can do, or how it is."""

    IDENTITY = auto()
    STATE = auto()


_YOU = r"(?:[你您妳]们?(?:自己|本人)?)"
_WHAT = r"(?:什么|甚么|啥)"
_MAKE = r"(?:开发|做|制作|创造|设计|发明|写|造|训练|研发|打造)"
_MAKER = r"(?:谁|哪(?:一?[家个]|位)(?:公司|团队|人)?|什么(?:人|公司))"
_KIND = (
    r"(?:真的?|一?[个台])*(?:人|真人|人类|活人|机器人?|ai|人工智[能慧]|程[序式]|电脑|计算机|chatgpt|gpt|claude|gemini|siri"
    r"|(?:大?语言)?模型|聊天机器人|助[理手]|男的?|女的?|男生|女生|活的|真的)"
)
_IDENTITY_CHINESE = (
    rf"{_YOU}(?:到底|究竟|又)?(?:是|算)(?:谁|哪位|{_WHAT}(?:人|东西|来头)?|何方神圣)",
    rf"{_YOU}的?(?:名字|姓名|大名)?(?:到底|应该|该)?[叫是姓](?:做|作)?{_WHAT}(?:名字?)?",
    rf"{_YOU}有(?:没有)?名字",
    rf"(?:我)?(?:该|应该|要|可以)?(?:怎么|如何|怎样)称呼{_YOU}(?:才?好)?|{_YOU}(?:要|该)?(?:怎么|如何)称呼|(?:我)?(?:该|要"
    rf"|可以)?叫{_YOU}{_WHAT}(?:好)?",
    rf"(?:自我介绍|介绍{_YOU}|介绍一下{_YOU}|{_YOU}自我介绍)(?:一下)?",
    rf"{_YOU}(?:到底|究竟|其实|真的)?是(?:不是)?{_KIND}(?:还是{_KIND})?",
    rf"(?:是)?{_MAKER}(?:把)?{_MAKE}(?:了|出来?)?{_YOU}(?:{_MAKE}出来)?的?|{_YOU}是(?:由|被)?{_MAKER}(?:{_MAKE}(?:出来)?)?的",
    rf"{_YOU}(?:是)?(?:来自|从)哪(?:里|儿|边)?(?:来)?的?|{_YOU}(?:家)?(?:住|在)哪(?:里|儿|边)?",
    rf"{_YOU}(?:都|还|到底|究竟)?(?:可以|能够?|会)(?:帮我|帮忙)?(?:做|干|办)?(?:到)?(?:些|点)?(?:{_WHAT}|哪些|干嘛)(?:事情?|功能|忙|东西)?",
    rf"{_YOU}是(?:干|做)(?:{_WHAT}|嘛)(?:用)?的|{_YOU}有(?:{_WHAT}|哪些)(?:功能|用处?|本事|能力|特长|技能)",
    rf"{_YOU}的?(?:功能|用途|工作|职责|能力|任务)(?:是{_WHAT}|有哪些)|{_YOU}(?:可以|能|会)?(?:怎么|如何|怎样)帮(?:助|到)?我"
    rf"|(?:我)?(?:该|要)?怎么[使]?用{_YOU}",
    rf"{_YOU}(?:今年)?(?:几岁|多大|多少岁)|{_YOU}的?(?:生日|年[龄纪]|性别)(?:是)?(?:什么时候|几号|哪一?天|多大|{_WHAT})?",
    rf"{_YOU}(?:能|可以|会)?(?:记得|记住|记)(?:多久|多少(?:东西|事情?)?)|{_YOU}(?:是)?(?:怎么|如何)(?:记住?(?:东西|事情)|工作|运作|运行)的?",
)
_STATE_CHINESE = (
    rf"{_YOU}(?:今天|最近|现在|这几天|这阵子|今晚|昨晚)?(?:一切|过得|感觉|心情)?(?:都)?(?:还)?(?:好(?:吗|不好)|怎么样|怎样|如何|开心|高兴|难过|累|忙"
    rf"|无聊)(?:不累|不忙|不开心)?",
    rf"{_YOU}(?:今天|最近|现在)?在(?:干嘛|[干做忙]{_WHAT})",
)
_ENDS_CHINESE = r"(?:[啊呀呢喔哦哇啦咯了吧嘛耶吗么]|来着)*"
_OPENS_CHINESE = (
    r"(?:请问|那么?|所以|话说|对了|说起来|[诶欸哎]|我?(?:想|想要)(?:问|知道)(?:一?下)?"
    r"|(?:可以|能)?(?:不能)?告诉我|喂|嘿|嗨)*"
)
_KIND_ENGLISH = (
    r"(?:a |an |the )?(?:real |actual |chat ?)?(?:robot|bot|human(?: being)?|person|man|woman|male|female|boy"
    r"|girl|guy|ai"
    r"|artificial intelligence|machine|computer(?: program)?|program|llm|language model|chatgpt|gpt|claude|siri"
    r"|alexa|gemini"
    r"|real|alive|conscious|sentient|assistant)"
)
_IDENTITY_ENGLISH = (
    r"who(?:'s| is)? (?:are )?(?:you|u)(?: really| exactly| anyway)?|who am i (?:talking|speaking"
    r"|chatting) (?:to|with)",
    r"(?:what(?:'s|s| is) )?your (?:full |real )?name(?: again)?(?: is)?|what(?: name)?(?: should| can| do| may"
    r"| shall) i call you",
    r"what are you called|do you have a name|what(?: exactly| kind of (?:thing|ai|bot|assistant"
    r"|model))? (?:are you|you are)",
    rf"(?:are you|you are|you're)(?: really| actually| still| just)? {_KIND_ENGLISH}(?: or (?:not|{_KIND_ENGLISH}))?",
    r"who (?:made|built|created|developed|designed|programmed|trained|invented|owns|runs) you"
    r"|who(?:'s| is) your (?:creator|maker|developer|owner)",
    r"where (?:are|do) you (?:come )?from|where do you live|where are you(?: based| located)?",
    r"what (?:else )?(?:can|could) you (?:actually )?do(?: for me| to help)?|what do you do"
    r"|what (?:all )?are you (?:able to do|capable"
    r" of|good at|good for|for|used for|there for)",
    r"what(?:'s|s| is| are) your (?:abilities|features|capabilities|skills|functions?|purpose|job|role)",
    r"(?:how|what) can you help(?: me)?(?: with)?|what (?:can|do|should) i use you for|how do i use you",
    r"how do(?:es)? (?:you|your memory) work|how (?:long|much) (?:can|do|will) you (?:remember|keep"
    r"|store)(?: things| stuff| for)?"
    r"|how good is your memory",
    r"(?:introduce|about|describe) yourself|how old are you|what(?:'s| is) your age|when(?:'s"
    r"| is) your birthday|when were you (?:born|made)",
)
_STATE_ENGLISH = (
    r"how(?:'re|re| are| r) (?:you|u|ya)(?: doing| feeling| getting on)?(?: today| tonight| this morning| lately)?"
    r"|how (?:is|was|'s) your (?:day|night|morning|weekend|week)(?: going| been)?|how has your (?:day|week) been",
    r"how do you feel(?: today)?|how have you been|how you doing|you (?:ok|okay|all ?right)",
    r"are you (?:feeling )?(?:ok|okay|all right|alright|well|tired|happy|sad|busy|awake|bored|lonely|asleep"
    r"|hungry)(?: today)?",
    r"what are you (?:doing|up to)(?: now| today| tonight)?",
)
_OPENS_ENGLISH = (
    r"(?:(?:so|and|hey|hi|hello|ok|okay|well|by the way|btw|oh|um|sorry|please|just|actually|but|then|(?:may"
    r"|can) i ask"
    r"|(?:can|could|would) you (?:please )?tell me|tell me|i wonder|i'd like to know) )*"
)
_ENDS_ENGLISH = r"(?: (?:then|jiyi|please|anyway|exactly|really|by the way|btw|again|though|lol))*"


def _whole(chinese: Sequence[str], english: Sequence[str]) -> re.Pattern[str]:
    in_chinese = f"{_OPENS_CHINESE}(?:{'|'.join(chinese)}){_ENDS_CHINESE}"
    return re.compile(f"{in_chinese}|{_OPENS_ENGLISH}(?:{'|'.join(english)}){_ENDS_ENGLISH}")


_ABOUT = {
    HearerQuestion.STATE: _whole(_STATE_CHINESE, _STATE_ENGLISH),
    HearerQuestion.IDENTITY: _whole(_IDENTITY_CHINESE, _IDENTITY_ENGLISH),
}
_LONGEST = 80
"""Characters of a message that asks nothing else."""
_OPINION = re.compile(
    r"[你您妳]们?(?:自己|个人|本人|也|还|都|最|更|比较|会|怎么|是不是|会不会)*"
    r"(?:觉得|认为|以为|看(?![到见过了])|推荐(?![的过了])|建议(?![的过了])|喜欢|偏好|同意|怎么想|怎么看)"
    r"|[你您妳]们?的(?:看法|意见|想法|建议|偏好|观点)"
    r"|\b(?:do|would|don't|wouldn't) you (?:\w+ )?(?:think|feel|believe|recommend|suggest|prefer|like|agree|say)\b"
    r"|\byour (?:own |personal |honest )?(?:opinion|favou?rite|view|take|thoughts|preference)s?\b",
    re.IGNORECASE,
)
"""Words for judging and liking, with the one who is addressed as their subject."""
_FOR_ME = re.compile(
    r"[请帮替给跟为]我们?|(?:告诉|提醒)我们?"
    r"|\b(?:for|tell|remind|give|show|get|find|book|order|write|send|make) (?:me|us)\b"
)
"""The one who asks, as the one for whom something is to be done."""
_KNOWING = re.compile(
    r"知道|记|认识|晓得|清楚|告诉|说|讲|提|听|推荐|查|找|存|有没有|\b(?:know|remember|recall|tell|told|say|said|find|look|have|keep"
    r"|kept|noted?|saved?|stored?|mention\w*|hear|heard|check|show|give|list)\b"
)
"""Words with which the hearer is asked for something that was told."""
_ANYONE = re.compile(r"\b(?:how|where|when|what) (?:do|would|can|should) you\b")
"""With "you" for anyone: how do you cook rice."""


def hearer_question(text: str) -> HearerQuestion | None:
    """What a message asks about the one who is addressed, by closed phrases; None where it asks anything else."""
    said = _parts(text) if len(text) <= _LONGEST else []
    asked = [(part, next((kind for kind, words in _ABOUT.items() if words.fullmatch(part)), None)) for part in said]
    kinds = [kind for _, kind in asked if kind is not None]
    if not kinds or any(kind is None and is_question(part) for part, kind in asked):
        return None
    return HearerQuestion.IDENTITY if HearerQuestion.IDENTITY in kinds else HearerQuestion.STATE


def asks_opinion(text: str) -> bool:
    """Whether the text asks for the opinion or the taste of the one who is addressed."""
    return bool(_OPINION.search(to_simplified(text)))


def without_asking_opinion(text: str) -> str:
    """The text without the words that ask for an opinion."""
    return _OPINION.sub(" ", to_simplified(text))


def speaks_of_own(text: str) -> bool:
    """Whether a request speaks of who makes it, otherwise than as the one for whom something is to be done."""
    return speaks_of_self(_FOR_ME.sub(" ", fold_lower(text)))


def concerns_hearer(text: str) -> bool:
    """Whether a question seems to be about who is addressed: not about who asks, nor about what was told."""
    folded = fold_lower(text)
    if speaks_of_self(folded) or _KNOWING.search(folded) or _ANYONE.search(folded):
        return False
    return any(speaks_of_hearer(part) and is_question(part) for part in _parts(text))


def _parts(text: str) -> list[str]:
    return [part for part in parts_of(text) if set_phrase(part) is None]
