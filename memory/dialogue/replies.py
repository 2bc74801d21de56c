"""What a model answered, made a reply; and what may be wrong with one (003 §3.1, §5)."""

import re
from collections.abc import Sequence

from ..language.written import Language
from ..prompting.grounding import unknown_values
from ..values.text import has_han, is_simplified, is_traditional, normalise

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_OPENERS = re.compile(
    r"^(?:(?:好的|沒問題|没问题|當然可以|当然可以|當然|当然|很高興為您服務|很高兴为您服务|這是個好問題|这是个好问题"
    r"|作為(?:一個|一名)?(?:AI|人工智慧|語言模型)[^，。！]*|作为(?:一个|一名)?(?:AI|人工智能|语言模型)[^，。！]*)[！!，,。：:]+\s*"
    r"|(?:sure(?: thing)?|of course|certainly|absolutely|great question|good question"
    r"|as an ai(?: language model| assistant)?[^,.!]*)"
    r"[!,.:]+\s*)+(?=\S)",
    re.IGNORECASE,
)
"""Phrases that models begin with whatever was said."""
_QUOTES = {"「": "」", "“": "”", '"': '"', "『": "』"}
_LATIN = re.compile(r"[A-Za-z]{2,}")
_INSTRUCTIONS = ("# who you are", "# what memory holds", "# principles", "between the lines of dashes")


def clean_reply(raw: str, names: Sequence[str]) -> str:
    """A model's answer without its thoughts, the speaker's name before it, quotes around it and a stock opening."""
    text = _THOUGHT.sub("", raw).strip()
    for name in sorted((*names, "assistant", "助理"), key=len, reverse=True):
        if text.lower().startswith(name.lower()) and text[len(name) :].lstrip()[:1] in ("：", ":"):
            text = text[len(name) :].lstrip()[1:].strip()
            break
    closing = _QUOTES.get(text[:1])
    if closing and text.endswith(closing) and not {text[0], closing} & set(text[1:-1]):
        text = text[1:-1].strip()
    return _capitalised(_OPENERS.sub("", text), text).strip()


def problems_of(
    reply: str, *, language: Language, message: str, last_reply: str, sources: Sequence[str] | None
) -> list[str]:
    """What is wrong with a reply, in sentences that the model is told; empty where nothing is.

    Args:
        reply: The reply.
        language: The one that it should have.
        message: The user's message.
        last_reply: The assistant's reply before; empty where there was none.
        sources: All that it may name values of, where it tells what memory holds; else None.
    """
    if not reply:
        return ["It was empty."]
    problems = []
    if any(mark in reply.lower() for mark in _INSTRUCTIONS):
        problems.append("It repeats your instructions.")
    if not _is_written_in(reply, language):
        problems.append(f"It is not in the user's language and script ({language.value}).")
    if len(normalise(reply)) > 8 and normalise(reply) in (normalise(message), normalise(last_reply)):
        problems.append("It only repeats what was said before.")
    if sources is not None:
        unknown = unknown_values(reply, "\n".join(sources), is_english=language is Language.ENGLISH)
        if unknown:
            problems.append(f"Neither memory nor the conversation says: {', '.join(unknown[:5])}.")
    return problems


def _is_written_in(reply: str, language: Language) -> bool:
    """Whether a reply is in a language; one without letters of either, as 94 or 👍, is in every one."""
    if language is Language.ENGLISH:
        return not has_han(reply) or _LATIN.search(reply) is not None
    if not has_han(reply):
        return _LATIN.search(reply) is None
    wrong_script = is_simplified if language is Language.TRADITIONAL_CHINESE else is_traditional
    return not wrong_script(reply)


def _capitalised(text: str, before: str) -> str:
    return text[:1].upper() + text[1:] if text != before else text
