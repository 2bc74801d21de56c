"""Which messages are nothing but set phrases, and what these are for."""

import pytest

from memory.language.messages.set_phrases import SetPhrase, set_phrase

SAID = {
    SetPhrase.FAREWELL: (
        "晚安",
        "再見囉～",
        "我先睡了，晚安",
        "下次聊",
        "拜拜",
        "再见",
        "bye",
        "night night",
        "See you tomorrow!",
    ),
    SetPhrase.THANKS: ("謝謝你", "谢谢啦", "辛苦了", "Thanks a lot", "okay thanks", "好的，多謝"),
    SetPhrase.GREETING: ("你好呀", "早安", "嗨嗨", "Hello there", "Good morning!", "hey"),
    SetPhrase.ACKNOWLEDGEMENT: ("好的", "嗯嗯", "知道了", "哈哈哈", "ok", "lol", "Got it."),
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in SAID.items() for text in texts])
def test_a_message_of_set_phrases_is_for_what_they_are_for(kind: SetPhrase, text: str) -> None:
    assert set_phrase(text) is kind


def test_of_several_the_good_bye_is_answered_first() -> None:
    assert set_phrase("好的，謝謝！晚安") is set_phrase("Thanks, good night!") is SetPhrase.FAREWELL


@pytest.mark.parametrize(
    "text",
    [
        "",
        "？",
        "晚安麵包在哪裡買的",
        "好吃嗎？",
        "再見到她是五月",
        "谢谢他帮我搬家",
        "Goodbye Lenin is my favourite film",
        "ok so the meeting is on Friday",
        "Nice",
        "Thanks to Ann I found it",
        "早餐吃什麼",
        "好" * 100,
    ],
)
def test_what_says_anything_else_is_none(text: str) -> None:
    assert set_phrase(text) is None
