"""Takes out of texts and JSON what looks like a password, a key or a token, before it is kept for debugging."""

import re
from collections.abc import Mapping

from pydantic import JsonValue

MASK = "***"
_NAMES = (
    r"(?:[a-z0-9]+[_-])*(?:password|passwd|passphrase|secret|token|api[_-]?key|private[_-]?key|encryption[_-]?key"
    r"|authorization|credentials?|cookie)"
)
_SECRET_NAME = re.compile(_NAMES, re.IGNORECASE)
_IN_TEXT: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?<=://)[^/\s:@'\"]*:[^/\s@'\"]+(?=@)"), MASK),
    (re.compile(r"\b(bearer|basic)\s+[a-z0-9._~+/=-]{8,}", re.IGNORECASE), rf"\1 {MASK}"),
    (re.compile(r"\bjiyi_[0-9a-f]{16}_[A-Za-z0-9_-]{43}"), MASK),
    (re.compile(r"\b(?:sk|pk|ghp|xox[abp])[-_][A-Za-z0-9_-]{16,}"), MASK),
    (re.compile(rf"\b({_NAMES})(['\"]?\s*[=:]\s*)(['\"]?)(?!\*)[^\s'\",;&)}}\]]+", re.IGNORECASE), rf"\1\2\3{MASK}"),
)


def masked_text(text: str) -> str:
    """The text with the mask in place of credentials in URLs, headers, assignments, and of API keys."""
    for pattern, replacement in _IN_TEXT:
        text = pattern.sub(replacement, text)
    return text


def masked_fields(fields: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The fields with the mask in place of values whose name says that they are secret, and in texts.

    Ids stay as they are, whatever they look like.
    """
    return {name: _masked(name, value) for name, value in fields.items()}


def _masked(name: str, value: JsonValue) -> JsonValue:
    match value:
        case Mapping():
            return masked_fields(value)
        case list():
            return [_masked(name, part) for part in value]
        case str() if _SECRET_NAME.fullmatch(name):
            return MASK
        case str() if not name.endswith("id"):
            return masked_text(value)
        case _:
            return value
