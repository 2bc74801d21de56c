"""The sentences that Jiyi says itself, in Traditional Chinese, Simplified Chinese and English."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..values.text import has_han, is_simplified, is_traditional


@dataclass(frozen=True)
class Phrases:
    """One language's sentences; `{…}` is filled in.

    The first group answers what a message is for (`Intent`), the second says what became of a request to forget and
    names things without their values, the third answers with memories, the fourth says that a quotation may hold no
    longer, the fifth asks which antecedent is meant.

    Args:
        doubtful: {change} is a phrase of `changes`.
        changes: By predicate, what has changed about {subject} and {object}; "" is any other change.
        you: The user as {subject}.
        quotation_marks: The outer two, then the inner two.
    """

    greeting: str
    farewell: str
    thanks: str
    acknowledged: str
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
    opinion: str
    opinion_with_memories: str
    general: str
    who_i_am: str
    my_name: str
    how_i_am: str
    nobody: str
    unwritten: str

    forgotten: str
    forgotten_in_part: str
    forgotten_already: str
    forget_which: str
    forget_this: str
    forget_nothing: str
    forget_everything: str
    forget_unlearned: str
    not_kept: str
    kept: str
    forget_context: str
    all_about: str
    said_on: str
    quoted_on: str
    just_said: str

    overview: str
    more: str
    in_short: str
    dated: str
    day: str
    month: str
    year: str
    week: str
    weekdays: tuple[str, ...]
    day_of_week: str
    clock: str
    zone: str
    said: str
    cited: str
    page: str
    earlier: str
    anonymous: str
    user: str
    assistant: str

    until: str
    doubtful: str
    unsure: str
    conflicting: str
    you: str
    changes: Mapping[str, str]
    quotation_marks: str

    which: str
    which_left_out: str
    whether: str
    listing: str
    alternatively: str
    also: str
    separator: str

    def nested(self, quote: str) -> str:
        """A text as it stands between quotation marks: its own outer ones become inner ones."""
        outer, inner = self.quotation_marks[:2], self.quotation_marks[2:]
        if not any(mark in quote for mark in outer):
            return quote
        both_ways = "’" not in inner  # which is an apostrophe, too
        return quote.translate(str.maketrans(*((outer + inner, inner + outer) if both_ways else (outer, inner))))


TRADITIONAL = Phrases(
    greeting="您好！有什麼要我記住，或要我找出來的嗎？",
    farewell="下次見！",
    thanks="不客氣。",
    acknowledged="好的。",
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
    forget="我會把找到的內容從記憶裡移除，也不會再提起這句話。如果可能指好幾件事，我什麼都不會刪，請說清楚是哪一件。",
    nothing_found="我的記憶裡沒有相關的內容。",
    opinion="這個我沒有自己的看法，記憶裡也沒有相關的內容。",
    opinion_with_memories="這個我沒有自己的看法，不過我記得：",
    general="我的記憶裡沒有相關的內容，一般的知識我也答不上來：我只記得您說過的事。",
    who_i_am="我是{name}，替您記住您說過的事，您問起時再找出來。我是程式，不是真人，其他的事我做不來。",
    my_name="記憶（Jiyi）",
    how_i_am="謝謝您問起，我一切正常。我是程式，沒有自己的感受和生活。",
    nobody="這段對話沒有說明是誰說的，所以我沒有查記憶，也不會記下來。",
    unwritten="這裡沒有語言模型可以寫這個。",
    forgotten="好的，已從記憶裡刪除：{things}。我不會再提起。",
    forgotten_in_part="好的，已從記憶裡刪除：{things}。一起說的{rests}還留著。",
    forgotten_already="這件事先前已經刪除了。",
    forget_which="您要我忘掉的是哪一件：{things}？在您說明之前，我什麼都不會刪。",
    forget_this="您要我忘掉的是{things}嗎？在您確認之前，我什麼都不會刪。",
    forget_nothing="我的記憶裡找不到這件事，所以沒有刪除任何內容。",
    forget_everything="我不會只憑一句話就清空全部記憶。請告訴我要忘掉哪一件；若要全部清除，請使用刪除個人資料的功能。",
    forget_unlearned="這段對話不會改動記憶，所以沒有刪除任何內容。",
    not_kept="好的，這件事我沒有記下來。",
    kept="好的，那就都留著，我什麼都沒有刪。",
    forget_context="使用者要求忘掉某件事。請按以下意思回覆，不要提到其內容：{reply}",
    all_about="所有關於{name}的內容",
    said_on="您在 {date} 說的話",
    quoted_on="{date} 說的「{quote}」",
    just_said="您剛才說的事",
    overview="我記得的有：",
    more="想知道更多，可以只問其中一件。",
    in_short="{answer}。",
    dated="{words}（{date}）",
    day="{year}年{month}月{day}日",
    month="{year}年{month}月",
    year="{year}年",
    week="{first}到{last}",
    weekdays=("星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"),
    day_of_week="{date}，{weekday}",
    clock="{day}，{time}",
    zone="{moment}（UTC）",
    said="{speaker}（{date}）：「{quote}」",
    cited="{place}：「{quote}」",
    page="第 {page} 頁",
    earlier="之前（{date}）的說法：「{quote}」",
    anonymous="記錄",
    user="您說過",
    assistant="助理說過",
    until="{quote}，這個情況到 {date} 為止。",
    doubtful="這是{change}（{date}）之前的情況，現在不一定還是這樣。{quote}",
    unsure="這一點後來可能變了。{quote}",
    conflicting="這幾個說法對不上，我不知道現在以哪一個為準：",
    you="您",
    changes={
        "lives_in": "{subject}從{object}搬走",
        "address": "{subject}從{object}搬走",
        "works_at": "{subject}離開{object}",
        "occupation": "{subject}不再擔任{object}",
        "studies_at": "{subject}離開{object}",
        "member_of": "{subject}離開{object}",
        "owns": "{subject}的{object}脫手",
        "drives": "{subject}不再開{object}",
        "uses": "{subject}不再使用{object}",
        "subscribes_to": "{subject}停訂{object}",
        "works_on": "{subject}不再負責{object}",
        "scheduled_at": "{subject}改期",
        "": "{object}的情況改變",
    },
    quotation_marks="「」『』",
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
    farewell="下次见！",
    thanks="不客气。",
    acknowledged="好的。",
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
    forget="我会把找到的内容从记忆里移除，也不会再提起这句话。如果可能指好几件事，我什么都不会删，请说清楚是哪一件。",
    nothing_found="我的记忆里没有相关的内容。",
    opinion="这个我没有自己的看法，记忆里也没有相关的内容。",
    opinion_with_memories="这个我没有自己的看法，不过我记得：",
    general="我的记忆里没有相关的内容，一般的知识我也答不上来：我只记得您说过的事。",
    who_i_am="我是{name}，替您记住您说过的事，您问起时再找出来。我是程序，不是真人，其他的事我做不来。",
    my_name="记忆（Jiyi）",
    how_i_am="谢谢您问起，我一切正常。我是程序，没有自己的感受和生活。",
    nobody="这段对话没有说明是谁说的，所以我没有查记忆，也不会记下来。",
    unwritten="这里没有语言模型可以写这个。",
    forgotten="好的，已从记忆里删除：{things}。我不会再提起。",
    forgotten_in_part="好的，已从记忆里删除：{things}。一起说的{rests}还留着。",
    forgotten_already="这件事之前已经删除了。",
    forget_which="您要我忘掉的是哪一件：{things}？在您说明之前，我什么都不会删。",
    forget_this="您要我忘掉的是{things}吗？在您确认之前，我什么都不会删。",
    forget_nothing="我的记忆里找不到这件事，所以没有删除任何内容。",
    forget_everything="我不会只凭一句话就清空全部记忆。请告诉我要忘掉哪一件；如果要全部清除，请使用删除个人数据的功能。",
    forget_unlearned="这段对话不会改动记忆，所以没有删除任何内容。",
    not_kept="好的，这件事我没有记下来。",
    kept="好的，那就都留着，我什么都没有删。",
    forget_context="用户要求忘掉某件事。请按以下意思回复，不要提到其内容：{reply}",
    all_about="所有关于{name}的内容",
    said_on="您在 {date} 说的话",
    quoted_on="{date} 说的“{quote}”",
    just_said="您刚才说的事",
    overview="我记得的有：",
    more="想知道更多，可以只问其中一件。",
    in_short="{answer}。",
    dated="{words}（{date}）",
    day="{year}年{month}月{day}日",
    month="{year}年{month}月",
    year="{year}年",
    week="{first}到{last}",
    weekdays=("星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"),
    day_of_week="{date}，{weekday}",
    clock="{day}，{time}",
    zone="{moment}（UTC）",
    said="{speaker}（{date}）：“{quote}”",
    cited="{place}：“{quote}”",
    page="第 {page} 页",
    earlier="之前（{date}）的说法：“{quote}”",
    anonymous="记录",
    user="您说过",
    assistant="助理说过",
    until="{quote}，这个情况到 {date} 为止。",
    doubtful="这是{change}（{date}）之前的情况，现在不一定还是这样。{quote}",
    unsure="这一点后来可能变了。{quote}",
    conflicting="这几个说法对不上，我不知道现在以哪一个为准：",
    you="您",
    changes={
        "lives_in": "{subject}从{object}搬走",
        "address": "{subject}从{object}搬走",
        "works_at": "{subject}离开{object}",
        "occupation": "{subject}不再担任{object}",
        "studies_at": "{subject}离开{object}",
        "member_of": "{subject}离开{object}",
        "owns": "{subject}的{object}脱手",
        "drives": "{subject}不再开{object}",
        "uses": "{subject}不再使用{object}",
        "subscribes_to": "{subject}停订{object}",
        "works_on": "{subject}不再负责{object}",
        "scheduled_at": "{subject}改期",
        "": "{object}的情况改变",
    },
    quotation_marks="“”‘’",
    which="“{reference}”是指{options}？",
    which_left_out="您是指{options}？",
    whether="“{reference}”是指{options}吗？",
    listing="、",
    alternatively="还是",
    also="和",
    separator="；",
)
ENGLISH = Phrases(
    greeting="Hello! Is there anything I should remember, or look up for you?",
    farewell="See you next time!",
    thanks="You're welcome.",
    acknowledged="All right.",
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
        "I remove what I find of it from memory, and will not bring this message up again. Where several things could "
        "be meant I remove none: say which one."
    ),
    nothing_found="I have nothing about that in memory.",
    opinion="I have no opinions of my own, and nothing about that in memory.",
    opinion_with_memories="I have no opinions of my own, but this is what I have about it:",
    general="I have nothing about that in memory, and general knowledge is beyond me: I only know what you tell me.",
    who_i_am=(
        "I'm {name}, a memory: I keep what you tell me and find it again when you ask. I'm a program, not a person, "
        "and there is nothing else that I can do."
    ),
    my_name="Jiyi",
    how_i_am="Thanks for asking: all is well. I'm a program, with no feelings or life of my own.",
    nobody="Nothing says whose conversation this is, so I have looked nothing up and keep nothing of it.",
    unwritten="There is no language model here that could write this.",
    forgotten="Done. Removed from memory: {things}. I will not bring it up again.",
    forgotten_in_part="Done. Removed from memory: {things}. What you said with it stays: {rests}.",
    forgotten_already="That was removed earlier.",
    forget_which="Which one should I forget: {things}? Until you say, I remove nothing.",
    forget_this="Should I forget {things}? Until you say so, I remove nothing.",
    forget_nothing="I could not find that in memory, so nothing was removed.",
    forget_everything=(
        "I will not clear my whole memory on the strength of one message. Tell me which thing to forget; to have "
        "everything erased, use the function that deletes your data."
    ),
    forget_unlearned="This conversation changes nothing in memory, so nothing was removed.",
    not_kept="All right, I have not kept that.",
    kept="All right, I keep them; nothing was removed.",
    forget_context=(
        "The user asks to forget something. Reply to this effect, without mentioning what it says: {reply}"
    ),
    all_about="everything about {name}",
    said_on="what you said on {date}",
    quoted_on="“{quote}” ({date})",
    just_said="what you just said",
    overview="This is what I have:",
    more="For more, ask me about one thing of it.",
    in_short="{answer}.",
    dated="{words} ({date})",
    day="{day} {month_name} {year}",
    month="{month_name} {year}",
    year="{year}",
    week="{first} – {last}",
    weekdays=("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    day_of_week="{weekday}, {date}",
    clock="{day}, {time}",
    zone="{moment} (UTC)",
    said="{speaker} ({date}): “{quote}”",
    cited="{place}: “{quote}”",
    page="p. {page}",
    earlier="Before that ({date}): “{quote}”",
    anonymous="Noted",
    user="You said",
    assistant="The assistant said",
    until="{quote} That was so until {date}.",
    doubtful="This is as of before {change} ({date}), and may have changed since. {quote}",
    unsure="This may have changed since. {quote}",
    conflicting="These do not agree, and I don't know which is right now:",
    you="you",
    changes={
        "lives_in": "{subject} moved from {object}",
        "address": "{subject} moved from {object}",
        "works_at": "{subject} left {object}",
        "occupation": "{subject} stopped working as {object}",
        "studies_at": "{subject} left {object}",
        "member_of": "{subject} left {object}",
        "owns": "{subject} gave up the {object}",
        "drives": "{subject} stopped driving the {object}",
        "uses": "{subject} stopped using {object}",
        "subscribes_to": "{subject} cancelled {object}",
        "works_on": "{subject} stopped working on {object}",
        "scheduled_at": "{subject} was rescheduled",
        "": "a change about {object}",
    },
    quotation_marks="“”‘’",
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
        if (told := _told_by(text)) is not None and not (chinese and told is ENGLISH):
            return told
        chinese = chinese or has_han(text)
    return TRADITIONAL if chinese else ENGLISH


def leaves_script_open(texts: Iterable[str]) -> bool:
    """Whether these texts are Chinese that could be in either script."""
    told = list(texts)
    return any(map(has_han, told)) and all(_told_by(text) in (None, ENGLISH) for text in told)


def _told_by(text: str) -> Phrases | None:
    if not has_han(text):
        return ENGLISH if text.strip() else None
    if is_traditional(text):
        return TRADITIONAL
    return SIMPLIFIED if is_simplified(text) else None
