"""What counts as a question."""

import pytest

from memory.language.questions import is_question


@pytest.mark.parametrize(
    "text",
    ["它在哪裡？", "它在哪里", "你還記得嗎", "這是什麼", "多少錢", "Where is it", "is it ready?", "And how about it?"],
)
def test_these_ask(text: str) -> None:
    assert is_question(text)


@pytest.mark.parametrize("text", ["我買了 AI-Box。", "记住这个", "It is ready.", "I know what he said.", "太好了！"])
def test_these_state(text: str) -> None:
    assert not is_question(text)
