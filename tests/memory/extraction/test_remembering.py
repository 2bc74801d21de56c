"""When the user asks to remember something, and what."""

import pytest

from memory.extraction.remembering import find_remember_intents
from memory.language.sentences import Sentences
from memory.values.text import fold
from memory.values.understanding.extractions import RememberIntent
from memory.values.understanding.readings import Intent

REQUESTS = [
    ("幫我記住，我的車位是 B2-17", "我的車位是 B2-17"),
    ("帮我记住，我的车位是 B2-17", "我的车位是 B2-17"),
    ("請幫我記住：客戶代號是 RM05-008。另外明天天氣如何？", "客戶代號是 RM05-008"),
    ("可以幫我記住我對花生過敏嗎？", "我對花生過敏"),
    ("幫我記一下 我媽的生日是五月三號", "我媽的生日是五月三號"),
    ("請記得我不吃牛肉", "我不吃牛肉"),
    ("請記住以下：密碼提示是貓的名字", "密碼提示是貓的名字"),
    ("別忘了我週五要請假", "我週五要請假"),
    ("別忘了我週五要請假喔，謝謝", "我週五要請假喔"),
    ("不要忘記繳電費", "繳電費"),
    ("千萬別忘記護照", "護照"),
    ("记得，我喜欢黑咖啡", "我喜欢黑咖啡"),
    ("記住這個：我住在花蓮", "我住在花蓮"),
    ("這很重要：我對盤尼西林過敏", "我對盤尼西林過敏"),
    ("这很重要，我对青霉素过敏。", "我对青霉素过敏"),
    ("我對花生過敏，這很重要", "我對花生過敏"),
    ("我对花生过敏，请记得", "我对花生过敏"),
    ("我的車牌是 ABC-1234，幫我記住這個", "我的車牌是 ABC-1234"),
    ("幫我記住：\n我的房號是 1203", "我的房號是 1203"),
    ("Please remember that my flight is BR 872.", "my flight is BR 872"),
    ("remember that I'm allergic to nuts", "I'm allergic to nuts"),
    ("Can you remember my birthday is May 3rd?", "my birthday is May 3rd"),
    ("Keep in mind that we close at six", "we close at six"),
    ("Note that the server moved. How are you?", "the server moved"),
    ("Don’t forget to call Anna!", "to call Anna"),
    ("My badge is A-77. Please remember this.", "My badge is A-77"),
    ("This is important: never deploy on Friday", "never deploy on Friday"),
    ("提醒我明天交報告", "明天交報告"),
    ("可以提醒我明天交报告吗？", "明天交报告"),
    ("Remind me to call Bob tomorrow.", "to call Bob tomorrow"),
    ("Could you remind me about the dentist?", "about the dentist"),
]
POINTING_BACK = [
    "記住這個",
    "记住这个",
    "幫我記住這個",
    "這很重要",
    "这很重要！",
    "請記得",
    "別忘了",
    "Remember this.",
    "please remember that",
    "this is important",
    "Don't forget!",
]
NOT_REQUESTS = [
    "謝謝你提醒我",
    "他提醒我了",
    "That reminds me of home.",
    "Remind me what you said.",
    "你還記得我的車位嗎？",
    "你还记得我说过什么吗",
    "記得我說過嗎？",
    "記不記得上次那家店？",
    "我記住了",
    "我记住了你的名字",
    "他忘了",
    "他忘了帶傘",
    "不用幫我記住這個",
    "你有幫我記住嗎？",
    "這很重要嗎？",
    "重要的是過程",
    "這是很重要的會議",
    "我記得那天下雨",
    "她叫我別忘了帶傘",
    "I remember that day",
    "Do you remember my name?",
    "Don't you remember that?",
    "I can't remember the code",
    "You'll remember me",
    "Remember that time we got lost?",
    "He forgot the keys",
    "I won't forget this",
    "Why is this important?",
    "Is this important?",
    "It is a note that I wrote",
    "It's important to take a break",
    "This is important for every athlete in the team",
]


WITHOUT_THE_READER = [
    ("幫我記住，我的車位是 B2-17", "我的車位是 B2-17"),
    ("记住这个：我住在花莲", "我住在花莲"),
    ("我對花生過敏，這很重要", "我對花生過敏"),
    ("請記得我不吃牛肉", "我不吃牛肉"),
    ("Please remember that my flight is BR 872.", "my flight is BR 872"),
    ("This is important: never deploy on Friday", "never deploy on Friday"),
    ("記住這個", ""),
    ("this is important", ""),
]


def find(text: str, *intents: Intent) -> list[RememberIntent]:
    folded = fold(text)
    return list(find_remember_intents(text, folded, Sentences(folded), intents))


@pytest.mark.parametrize(("text", "content"), REQUESTS)
def test_a_request_to_remember_says_what_and_where(text: str, content: str) -> None:
    (intent,) = find(text, Intent.REMEMBER)
    assert intent.content == content == text[intent.content_start : intent.content_end]
    assert intent.trigger
    assert intent.trigger in text


@pytest.mark.parametrize("text", POINTING_BACK)
def test_pointing_back_has_an_empty_content_in_the_text(text: str) -> None:
    (intent,) = find(text, Intent.REMEMBER)
    assert intent.content == ""
    assert 0 < intent.content_start == intent.content_end <= len(text)


@pytest.mark.parametrize("text", NOT_REQUESTS)
def test_what_the_reader_takes_for_something_else_is_no_request(text: str) -> None:
    intent = Intent.QUESTION if text[-1] in "?？吗嗎" else Intent.STATEMENT
    assert find(text, intent) == []


@pytest.mark.parametrize("text", NOT_REQUESTS)
def test_without_the_reader_questions_statements_and_refusals_are_no_requests(text: str) -> None:
    assert find(text) == []


@pytest.mark.parametrize(("text", "content"), WITHOUT_THE_READER)
def test_the_phrases_of_the_specification_work_without_the_reader(text: str, content: str) -> None:
    assert [intent.content for intent in find(text)] == [content]


@pytest.mark.parametrize(("text", "content"), WITHOUT_THE_READER)
def test_and_where_the_reader_sees_a_statement(text: str, content: str) -> None:
    assert [intent.content for intent in find(text, Intent.STATEMENT)] == [content]


def test_what_the_reader_takes_for_a_request_without_such_words_is_remembered_whole() -> None:
    [intent] = find("我的車牌要換成 ABC-1234 喔。", Intent.REMEMBER)
    assert (intent.trigger, intent.content) == ("", "我的車牌要換成 ABC-1234 喔")


def test_two_requests_in_one_text_are_two_intents() -> None:
    intents = find("幫我記住我住台北。也請記得我不吃辣。", Intent.REMEMBER)
    assert [intent.content for intent in intents] == ["我住台北", "我不吃辣"]
