"""Messages that are nothing but set phrases: greetings, good-byes, thanks and acknowledgements."""

import re
from collections.abc import Collection
from enum import Enum, auto

from ...values.text import normalise


class SetPhrase(Enum):
    """What set phrases are for; of several in one message, the first."""

    FAREWELL = auto()
    THANKS = auto()
    GREETING = auto()
    ACKNOWLEDGEMENT = auto()


_ALL = r"(?:[你您妳]们?|大家|各位|老师|同学们?)"
_PHRASES = {
    SetPhrase.FAREWELL: (
        rf"(?:{_ALL}|我)?(?:先)?(?:晚安|再见|再会|掰+|拜+)|(?:我)?先(?:这样|走|闪|撤|睡|下线|去?忙)|(?:我)?(?:要)?去?睡(?:觉)?了"
        r"|(?:明天|改天|下次|下周|下回|回头|待会|一会|等下|晚点)(?:再)?[见聊说]"
        r"|bye+(?:[ -]?bye+)?|good ?bye|(?:good )?night(?:[ -]?night)?|nighty night|sleep (?:well|tight)|farewell"
        r"|(?:i'll )?(?:see|catch|talk to|speak to) (?:you|ya|u)(?: (?:later|soon|tomorrow|around|next time"
        r"|next week))?"
        r"|(?:talk|speak) (?:later|soon|tomorrow)|laters?|ttyl|gtg|take care|so long|have a (?:good|nice|great"
        r"|lovely) "
        r"(?:day|evening|night|one|weekend|time)|(?:i'm )?off to bed"
    ),
    SetPhrase.THANKS: (
        rf"(?:非常|真的?|太|十分|很)*(?:感谢|谢+|多谢|感恩)(?:{_ALL}|的?帮忙)*|(?:{_ALL})?辛苦(?:{_ALL})?|麻烦{_ALL}了"
        r"|(?:many )?thanks?(?: you| u| ya)?(?: so much| very much| a lot| a bunch| a million)?|thx|ty|cheers"
        r"|(?:i )?(?:really )?appreciate it"
    ),
    SetPhrase.GREETING: (
        rf"{_ALL}好|(?:{_ALL})?(?:早|早安|早上好|上午好|午安|中午好|下午好|晚上好)|哈[啰喽罗]+|嗨+|嘿+|喂+"
        r"|h+i+(?: there| again)?|he+y+(?: there| again)?|hello+(?: there| again)?|hiya|yo+"
        r"|good (?:morning|afternoon|evening|day)|greetings"
    ),
    SetPhrase.ACKNOWLEDGEMENT: (
        r"好+的?|嗯+|[喔哦噢]+|了解|明白|知道|收到|原来如此|没事|没关系|不客气|[哈呵嘻]+"
        r"|o+k+(?:ay|ie)?|k+|al(?:l )?right|got it|i see|gotcha|understood|no problem|no worries|never ?mind"
        r"|makes sense"
        r"|fair enough|sounds good|(?:ha)+|(?:he){2,}|lo+l+|lmao|wow+"
    ),
}
_PARTICLES = r"(?:[啊呀呢喔哦哇啦咯囉啰喽了吧嘛耶滴捏儿]|的)*"
_ADDRESSED = r"(?: (?:jiyi|everyone|everybody|all|guys|mate|then|for now|again))?"
_WHOLE = {kind: re.compile(rf"(?:{words}){_PARTICLES}{_ADDRESSED}") for kind, words in _PHRASES.items()}
_PARTS = re.compile(r"[\s,，、]*[,，、。.!！?？~～;；…\n]+[\s,，、]*")
_LONGEST = 60
"""Characters of a message of set phrases."""
_MAX_SPACES = 8
_TRIMMED = " -_'\"()（）[]「」^:)"


def set_phrase(text: str) -> SetPhrase | None:
    """What a text is for that is nothing but set phrases; None where it says anything else."""
    kinds = [_kind_of(part) for part in parts_of(text)] if len(text) <= _LONGEST else []
    return _first(kinds) if kinds and None not in kinds else None


def closing_phrase(text: str) -> SetPhrase | None:
    """What the set phrase is for with which a text ends: "heading home, bye"; None where it ends with none."""
    parts = parts_of(text[-_LONGEST:])
    return _kind_of(parts[-1]) if parts else None


def parts_of(text: str) -> list[str]:
    """What stands between the marks of a text, normalised."""
    said = (part.strip(_TRIMMED) for part in _PARTS.split(normalise(text)))
    return [part for part in said if any(character.isalnum() for character in part)]


def _kind_of(said: str) -> SetPhrase | None:
    """What one phrase, or one after the other, is for: "okay thanks"."""
    whole = next((kind for kind, words in _WHOLE.items() if words.fullmatch(said)), None)
    first, _, rest = said.partition(" ")
    if whole is not None or not rest or said.count(" ") > _MAX_SPACES:
        return whole
    kinds = [_kind_of(first), _kind_of(rest)]
    return None if None in kinds else _first(kinds)


def _first(kinds: Collection[SetPhrase | None]) -> SetPhrase:
    return next(kind for kind in SetPhrase if kind in kinds)
