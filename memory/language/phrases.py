"""The sentences that Jiyi says itself, in Traditional Chinese, Simplified Chinese and English."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..values.text import has_han, is_simplified, is_traditional


@dataclass(frozen=True)
class Phrases:
    """One language's sentences; `{…}` is filled in.

    The first group answers what a message is for (`memory.values.readings.Intent`), the second quotes memories, the
    third asks which antecedent is meant.
    """

    greeting: str
    thanks: str
    chitchat: str
    noted: str
    confirmed: str
    denied: str
    correction: str
    corrected: str
    request: str
    request_with_facts: str
    request_with_memories: str
    remember: str
    forget: str
    nothing_found: str

    said: str
    anonymous: str
    user: str
    assistant: str

    which: str
    which_left_out: str
    whether: str
    listing: str
    alternatively: str
    also: str
    separator: str


TRADITIONAL = Phrases(
    greeting="您好！有什麼要我記住，或要我找出來的嗎？",
    thanks="不客氣。",
    chitchat="嗯，我在聽。",
    noted="好的，我記下了。",
    confirmed="好的，就是這樣。",
    denied="好的，那就不是這樣。",
    correction="好的，以您剛才說的為準。",
    corrected="好的，更正為：{content}",
    request="這件事我沒辦法代勞，我只能記住您說的，再幫您找出來。",
    request_with_facts="這件事我沒辦法代勞，不過您說的我會記著。",
    request_with_memories="這件事我沒辦法代勞，不過我記得：",
    remember="好的，我會記住：{content}",
    forget=("我還不能在對話裡刪除記憶，之前說過的都還在。您的要求會記進變更紀錄，等人處理；這句話本身不會變成記憶。"),
    nothing_found="我的記憶裡沒有相關的內容。",
    said="{speaker}（{date}）：「{quote}」",
    anonymous="記錄",
    user="您說過",
    assistant="助理說過",
    which="「{reference}」是指{options}？",
    which_left_out="您是指{options}？",
    whether="「{reference}」是指{options}嗎？",
    listing="、",
    alternatively="還是",
    also="和",
    separator="；",
)
SIMPLIFIED = Phrases(
    greeting="您好！有什么要我记住，或要我找出来的吗？",
    thanks="不客气。",
    chitchat="嗯，我在听。",
    noted="好的，我记下了。",
    confirmed="好的，就是这样。",
    denied="好的，那就不是这样。",
    correction="好的，以您刚才说的为准。",
    corrected="好的，更正为：{content}",
    request="这件事我没办法代劳，我只能记住您说的，再帮您找出来。",
    request_with_facts="这件事我没办法代劳，不过您说的我会记着。",
    request_with_memories="这件事我没办法代劳，不过我记得：",
    remember="好的，我会记住：{content}",
    forget=("我还不能在对话里删除记忆，之前说过的都还在。您的要求会记进变更记录，等人处理；这句话本身不会变成记忆。"),
    nothing_found="我的记忆里没有相关的内容。",
    said="{speaker}（{date}）：「{quote}」",
    anonymous="记录",
    user="您说过",
    assistant="助理说过",
    which="「{reference}」是指{options}？",
    which_left_out="您是指{options}？",
    whether="「{reference}」是指{options}吗？",
    listing="、",
    alternatively="还是",
    also="和",
    separator="；",
)
ENGLISH = Phrases(
    greeting="Hello! Is there anything I should remember, or look up for you?",
    thanks="You're welcome.",
    chitchat="I'm listening.",
    noted="Noted.",
    confirmed="All right, it stays that way.",
    denied="All right, not that then.",
    correction="All right, what you just said counts.",
    corrected="Corrected: {content}",
    request="I can't do that for you: I only keep what you tell me and find it again.",
    request_with_facts="I can't do that for you, but I will keep what you told me.",
    request_with_memories="I can't do that for you, but this is what I have about it:",
    remember="I will remember: {content}",
    forget=(
        "I can't delete memories from the chat yet, so what you told me before is still there. "
        "Your wish goes into the change log for a person to act on; this message itself does not become a memory."
    ),
    nothing_found="I have nothing about that in memory.",
    said="{speaker} ({date}): “{quote}”",
    anonymous="Noted",
    user="You said",
    assistant="The assistant said",
    which="By “{reference}”, do you mean {options}?",
    which_left_out="Do you mean {options}?",
    whether="By “{reference}”, do you mean {options}?",
    listing=", ",
    alternatively=" or ",
    also=" and ",
    separator="; ",
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
        if is_simplified(text):
            return SIMPLIFIED
    return TRADITIONAL if chinese else ENGLISH
