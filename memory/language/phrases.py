"""The sentences that Jiyi says itself, in Traditional Chinese, Simplified Chinese and English."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..values.text import has_han, is_traditional, to_simplified, to_traditional


@dataclass(frozen=True)
class Phrases:
    """One language's sentences; `{…}` is filled in."""

    noted: str
    remember: str
    nothing_found: str
    said: str
    which: str
    whether: str
    listing: str
    alternatively: str
    anonymous: str
    user: str
    assistant: str


TRADITIONAL = Phrases(
    noted="了解。",
    remember="好的，我會記住：{content}",
    nothing_found="我的記憶裡沒有相關的內容。",
    said="{speaker}（{date}）：「{quote}」",
    which="「{reference}」是指{options}？",
    whether="「{reference}」是指{options}嗎？",
    listing="、",
    alternatively="還是",
    anonymous="記錄",
    user="您說過",
    assistant="助理說過",
)
SIMPLIFIED = Phrases(
    noted="了解。",
    remember="好的，我会记住：{content}",
    nothing_found="我的记忆里没有相关的内容。",
    said="{speaker}（{date}）：「{quote}」",
    which="「{reference}」是指{options}？",
    whether="「{reference}」是指{options}吗？",
    listing="、",
    alternatively="还是",
    anonymous="记录",
    user="您说过",
    assistant="助理说过",
)
ENGLISH = Phrases(
    noted="Understood.",
    remember="I will remember: {content}",
    nothing_found="I have nothing about that in memory.",
    said="{speaker} ({date}): “{quote}”",
    which="By “{reference}”, do you mean {options}?",
    whether="By “{reference}”, do you mean {options}?",
    listing=", ",
    alternatively=" or ",
    anonymous="Noted",
    user="You said",
    assistant="The assistant said",
)


def phrases_for(texts: Iterable[str]) -> Phrases:
    """The language of the first text that tells; Traditional for Chinese that could be either."""
    chinese = False
    for text in texts:
        if not has_han(text):
            if not chinese and text.strip():
                return ENGLISH
            continue
        chinese = True
        if is_traditional(text):
            return TRADITIONAL
        if to_traditional(text) != to_simplified(text):
            return SIMPLIFIED
    return TRADITIONAL if chinese else ENGLISH
