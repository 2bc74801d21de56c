"""What a conversation in OpenAI's format says: who said what, which of it is new, and what no person said."""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from memory.values.understanding.dialogue import Role, Turn

from ...support.assistants import Message

MAX_READ_CHARACTERS = 8_000
"""A longer message is passed on, but neither looked up nor learned: reading it would keep the reply waiting."""
_MAX_TURNS = 12
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_GENERATED = re.compile(
    r"^\s*#{2,3} task:?\s.*\b(?:title|tags?|follow[- ]?ups?|quer(?:y|ies)|emoji|autocomplet\w+|suggest)\b"
    r"|<chat_history>.*</chat_history>"
    r"|\b(?:you are|act as) a (?:\w+ )?(?:title|tag)s? generator\b"
    r"|\b(?:provide|generate|create|write|give|suggest|come up with)\b[^.\n]{0,60}\b(?:title|name|topic)\b[^.\n]{0,30}"
    r"\b(?:th(?:e|is)|our) (?:\w+ )?(?:conversation|chat|dialogue)\b"
    r"|\bgive th(?:e|is) (?:conversation|chat) an? (?:name|title)\b"
    r"|\btitle summarizing our conversation\b"
    r"|\bsummari[sz]e the (?:user's )?conversation into a title\b"
    r"|(?:會話|会话|對話|对话|聊天)[^。\n]{0,12}(?:總結|总结|概括)[^。\n]{0,20}(?:標題|标题)"
    r"|(?:總結|总结|概括)[^。\n]{0,12}(?:會話|会话|對話|对话|聊天)[^。\n]{0,20}(?:標題|标题)"
    r"|四到五[個个]字[^。\n]{0,10}返回[^。\n]{0,12}主[題题]"
    r"|(?:總結|总结)一下對?对?[話话]?[^。\n]{0,10}用作[後后][續续]的上下文提示",
    re.IGNORECASE | re.DOTALL,
)
"""What chat programs ask a model for themselves: titles, tags, follow-up questions, search queries of a conversation.

Open WebUI, LibreChat, LobeChat, Cherry Studio, NextChat and their kin send these like any message of the person.
"""


def text_of(message: Message) -> str:
    """The text of a message, its parts in lines, without control characters."""
    content = message.get("content")
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        content = "\n".join(part for part in parts if isinstance(part, str))
    return _CONTROL.sub(" ", content).strip() if isinstance(content, str) else ""


def last_said(messages: Sequence[Message]) -> int | None:
    """The place of the last message of the person."""
    return next((place for place in reversed(range(len(messages))) if messages[place].get("role") == "user"), None)


def is_generated(messages: Sequence[Message]) -> bool:
    """Whether a chat program asks for itself, not for the person."""
    place = last_said(messages)
    said = [] if place is None else [messages[place]]
    leading = [message for message in messages[:1] if message.get("role") in ("system", "developer")]
    return any(_GENERATED.search(text_of(message)) for message in (*said, *leading))


def turns_before(messages: Sequence[Message], place: int, *, at: datetime) -> tuple[Turn, ...]:
    """The latest turns before a message, oldest first, as if they had been said just now."""
    turns = [
        Turn(role=_ROLES[str(message["role"])], content=text, created_at=at)
        for message in messages[:place]
        if message.get("role") in _ROLES and 0 < len(text := text_of(message)) <= MAX_READ_CHARACTERS
    ]
    return tuple(turns[-_MAX_TURNS:])


def repetition_id(messages: Sequence[Message], *, after: Iterable[str]) -> str:
    """The id of the turn that a request is, by what the person said last and what was said before it.

    It is the same with other instructions, and with results of tools behind the message.

    Args:
        messages: The conversation.
        after: What tells it from a request with the same messages that is another turn.
    """
    place = last_said(messages)
    before = messages[: place + 1 if place is not None else None]
    said = [[message["role"], text_of(message)] for message in before if message.get("role") in _ROLES]
    return f"openai-{_digest([*after, said])}"


def fingerprint(messages: Sequence[Message], *, at: datetime, number: int = 0) -> str:
    """The name of the session of a chat that has no id, by its first message of the person, which each request repeats.

    Args:
        messages: The conversation.
        at: When the chat began: its day in UTC counts.
        number: How many chats of that day began with the same message before it.
    """
    first = next((text_of(message) for message in messages if message.get("role") == "user"), "")
    return f"chat-{_digest([f'{at:%Y-%m-%d}', number, first])}"


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")).hexdigest()[:32]
