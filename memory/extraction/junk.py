"""Recognises texts that never become an entity: stop words, numbers, pronouns, greetings, dates."""

import re
from enum import StrEnum

from ..language.keywords import STOP_WORDS_CHINESE, STOP_WORDS_ENGLISH
from ..values.text import has_han, normalise
from ..values.text_caches import text_cache
from .deixis import DEIXIS


class Junk(StrEnum):
    """The reason why a text is no name."""

    EMPTY = "it holds no letter"
    NUMBER = "it is a number"
    DATE = "it is a time"
    PRONOUN = "it is a pronoun"
    GREETING = "it is a greeting or an exclamation"
    STOP_WORD = "it is a word that names nothing"


_NUMBER = re.compile(
    r"[第约共近]?[-+±#$€£¥]?(?:\d[\d,.\s]*(?:度)?|[零〇一二两三四五六七八九十百千万亿半几]+)\s?"
    r"(?:%|‰|°c?|个|位|次|件|台|人|岁|元|块|万|亿|千|百|多|几|倍|名|只|条|张|本|部|家|天|周|楼|层|号|版|级|分|期|届"
    r"|kg|km|cm|mm|ml|mb|gb|tb|kb|hz|am|pm|st|nd|rd|th|px|usd|ntd|twd|rmb|hours?|days?|people|times|percent)?"
    r"|\+?[\d()][\d\s()-]{6,}"
)
_MONTHS = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_MONTHS_ONLY = (
    _MONTHS.replace("may|", "").replace("june?|", "jun|").replace("apr(?:il)?|", "apr|").replace("aug(?:ust)?|", "aug|")
)
"""Without April, May, June and August, which are given names too."""
_DAYS = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?s?"
_DATE = re.compile(
    r"(?:\d{2,4}|[零〇一二三四五六七八九十]{2,4})年(?:[初底末中]|\d{1,2}月)?(?:\d{1,2}[日号])?"
    r"|(?:\d{1,2}|[一二三四五六七八九十]{1,2})月(?:份|初|底|中旬?|上旬|下旬)?(?:(?:\d{1,2}"
    r"|[一二三四五六七八九十]{1,3})[日号])?"
    r"|(?:\d{1,2}|[一二三四五六七八九十]{1,3})[日号点时](?:半|整|钟|\d{1,2}分?)?|(?:星期|礼拜|周)[一二三四五六日天末]"
    r"|(?:早上|上午|中午|下午|傍晚|晚上|凌晨|半夜|清晨)(?:.{1,3}[点时].{0,3})?|[春夏秋冬](?:天|季|日)"
    rf"|(?:{_DAYS},? )?(?:the )?(?:{_MONTHS}\.? (?:of )?\d{{1,4}}(?:st|nd|rd|th)?|{_MONTHS_ONLY}|\d{{1,2}}(?:st"
    rf"|nd|rd|th)? (?:of )?{_MONTHS})(?:,? \d{{2,4}})?"
    rf"|{_DAYS}(?: (?:morning|afternoon|evening|night))?|(?:spring|summer|autumn|fall"
    rf"|winter)s?(?: (?:of )?\d{{4}})?|\d{{4}}s?|\d{{2}}s"
    r"|\d{4}[-/.]\d{1,2}(?:[-/.]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}:\d{2}(?::\d{2})?\s?(?:am|pm)?"
    r"|noon|midnight|weekends?"
)
_PRONOUN = re.compile(
    r"(?:我|你|妳|您|他|她|它|牠|咱|俺|自己|人家|大家|别人|本人|谁|哪[里儿个位些]?|什么|啥|[这那哪](?:一"
    r"|几)?[个台部家本款位间辆座支件条张项套种份边]?|这里|那里|这儿|那儿|这边|那边|某人|某某|双方|彼此"
    r"|对方|前者|后者|[两二]者)(?:们|的|俩|自己)?"
    r"|(?:i|me|my|mine|myself|you|your|yours|yourself|he|him|his|himself|she|her|hers|herself|it|its|itself|we"
    r"|us|our|ours|ourselves"
    r"|they|them|their|theirs|themselves|this|that|these|those|who|whom|whose|what|which|someone|somebody|anyone"
    r"|anybody"
    r"|everyone|everybody|nobody|no one|something|anything|everything|nothing|one|ones|y'?all|u|ur"
    r"|(?:the )?(?:former|latter)|both)(?:'(?:s|re"
    r"|ve|ll|d|m))?"
)
_GREETING = re.compile(
    r"(?:你|您|大家|各位|老师|同学们?)?(?:好|早|早安|早上好|午安|下午好|晚上好|晚安|您好|你好)(?:啊|呀|呢|哦|哇"
    r"|吗)?|哈[啰喽罗]+|嗨+|嘿+|喂+"
    r"|谢谢(?:你|您|大家|了)?|感谢|多谢|谢啦|感恩|对不起|抱歉|不好意思|没关系|没事(?:儿|了|啦)?|算了|不客气|再见|拜拜|掰掰?"
    r"|[哈呵嘻嘿呜啊哇嗯哦喔噢唉哎呀啦]+|好的?|是的?|对[啊的]?|没错|加油|恭喜|辛苦了?"
    r"|h+i+|he+y+|hello+|hiya|yo+|good (?:morning|afternoon|evening|night|day)|greetings|welcome"
    r"|thanks?(?: you)?(?: so much)?|thx|ty|sorry|never ?mind|no problem|bye+(?: ?bye+)?"
    r"|goodbye|see (?:you|ya)|cheers|congrat(?:s|ulations)|please|ok(?:ay)?|k+|yes|yeah+|yep|yup|no+|nope|nah"
    r"|wow+|oh+|ah+|aww*|hm+|uh+|um+|o+h? my (?:god|gosh)|omg|lol+|lmao|haha+|hehe+|ha+|xd+|qaq|qq+|tt+|orz|oops"
    r"|ouch|yay+|hurray|damn|gosh|geez|btw|imo|fyi|rip|happy birthday|merry christmas",
)


@text_cache(maxsize=16_384)
def junk_kind(name: str) -> Junk | None:
    """The reason why a text of any width, case and script is no name; None where it may be one."""
    text = normalise(name)
    text = text.strip(" .,!?;:。，！？；：、…~-_'\"()（）[]「」")
    if not any(character.isalnum() for character in text):
        return Junk.EMPTY
    if _NUMBER.fullmatch(text) or text.isnumeric():
        return Junk.NUMBER
    if _PRONOUN.fullmatch(text) or any(pattern.fullmatch(text) for kind, pattern in DEIXIS if kind == "deixis.pronoun"):
        return Junk.PRONOUN
    if _DATE.fullmatch(text) or any(pattern.fullmatch(text) for kind, pattern in DEIXIS if kind != "deixis.pronoun"):
        return Junk.DATE
    if _GREETING.fullmatch(text):
        return Junk.GREETING
    if _is_function_word(text) and not _is_title(name):
        return Junk.STOP_WORD
    return None


def is_junk(name: str) -> bool:
    """Whether a text is no name (`junk_kind`)."""
    return junk_kind(name) is not None


def _is_title(name: str) -> bool:
    """Whether several words are all capitalised: The Who."""
    words = name.split()
    return len(words) > 1 and all(word[:1].isupper() for word in words)


def _is_function_word(text: str) -> bool:
    return text in STOP_WORDS_CHINESE if has_han(text) else all(word in STOP_WORDS_ENGLISH for word in text.split())
