"""Conversations of ChatGPT: `conversations.json` of OpenAI's data export.

Shape: `docs/chatgpt-data-export-format.md` of mitkury/chatgpt-export-parser; OpenAI publishes none.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from ...values.understanding.dialogue import Role
from .entries import Entry, ForeignExport, NotThisFormat, listed, text_of, time_of

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
_TEXTS = ("text", "multimodal_text")
_EVERYBODY = "all"


def read_openai(data: Any, *, user: str | None = None) -> ForeignExport:
    """Reads of each conversation the branch that was last shown, as the turns of a session.

    Left out are other branches, system messages, tools, what was hidden, and images.

    Args:
        data: The JSON of `conversations.json`.
        user: Not needed: an export is of one user.

    Raises:
        NotThisFormat: It is something else.
    """
    export = ForeignExport("openai")
    for conversation in listed(data, "conversations.json"):
        mapping = conversation.get("mapping")
        if not isinstance(mapping, Mapping):
            raise NotThisFormat("conversations.json: expected conversations with a mapping")
        shown = list(_branch(mapping, conversation.get("current_node")))
        with_message = sum(isinstance(node, Mapping) and bool(node.get("message")) for node in mapping.values())
        if left := with_message - len(shown):
            export.skipped["messages of other branches"] += left
        session = str(conversation.get("conversation_id") or conversation.get("id") or "openai")
        last = time_of(conversation.get("create_time"))
        for message in shown:
            last = time_of(message.get("create_time")) or last
            _add_message(export, message, session, last)
    return export


def _branch(mapping: Mapping[str, Any], leaf: Any) -> Iterator[Mapping[str, Any]]:
    """The messages from the first to the node `leaf`."""
    found, seen = [], set()
    while isinstance(leaf, str) and leaf not in seen and isinstance(node := mapping.get(leaf), Mapping):
        seen.add(leaf)
        if isinstance(message := node.get("message"), Mapping):
            found.append(message)
        leaf = node.get("parent")
    return reversed(found)


def _add_message(export: ForeignExport, message: Mapping[str, Any], session: str, at: datetime | None) -> None:
    author, content, metadata = (_mapping(message.get(name)) for name in ("author", "content", "metadata"))
    role = _ROLES.get(str(author.get("role")))
    if role is None:
        export.skipped[f"messages of role {author.get('role')}"] += 1
    elif metadata.get("is_visually_hidden_from_conversation"):
        export.skipped["hidden messages"] += 1
    elif message.get("recipient", _EVERYBODY) != _EVERYBODY or content.get("content_type") not in _TEXTS:
        export.skipped["tools, code and thoughts"] += 1
    else:
        export.add(
            Entry(
                source_id=str(message.get("id") or ""),
                session_id=session,
                content=text_of(content.get("parts")),
                created_at=at,
                role=role,
            )
        )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
