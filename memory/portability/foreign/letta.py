"""Agent files of Letta (`.af`): the messages of agents, and their blocks of memory.

Shape: `AgentFileSchema` in `letta/schemas/agent_file.py` of letta-ai/letta, and the files of letta-ai/agent-file.
"""

import json
from collections.abc import Mapping
from typing import Any

from ...values.records import ResourceKind
from ...values.understanding.dialogue import Role
from .entries import Entry, ForeignExport, NotThisFormat, listed, text_of, time_of

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
_OF_THE_AGENT = ("persona",)
_SAYS = "send_message"
_IS_SAID = ("user_message", None)


def read_letta(data: Any, *, user: str | None = None) -> ForeignExport:
    """Reads what the user and the agents said as turns, one session an agent, and blocks as notes.

    Left out are system messages, tools and their results, what an agent thinks, and blocks that describe the agent.

    Args:
        data: The JSON of an agent file.
        user: Not needed: an agent file names no user.

    Raises:
        NotThisFormat: It is something else.
    """
    if not isinstance(data, Mapping) or "agents" not in data:
        raise NotThisFormat("Letta: expected an agent file with agents and blocks")
    export = ForeignExport("letta")
    last = None
    for agent in listed(data["agents"], "agents"):
        name = str(agent.get("name") or agent.get("id") or "agent")
        for message in listed(agent.get("messages") or [], "messages"):
            last = time_of(message.get("created_at")) or last
            _add_message(export, message, name)
    for block in listed(data.get("blocks") or [], "blocks"):
        if block.get("label") in _OF_THE_AGENT:
            export.skipped["blocks about the agent"] += 1
            continue
        label = str(block.get("label") or "")
        export.add(
            Entry(
                source_id=f"block:{label}",
                session_id="letta",
                content=str(block.get("value") or ""),
                created_at=last,
                kind=ResourceKind.NOTE,
                metadata={"label": label},
            )
        )
    return export


def _add_message(export: ForeignExport, message: Mapping[str, Any], agent: str) -> None:
    role = _ROLES.get(str(message.get("role")))
    if role is None:
        export.skipped[f"messages of role {message.get('role')}"] += 1
        return
    said = _said(message, role)
    if said is None:
        export.skipped["tools, events and thoughts"] += 1
        return
    export.add(
        Entry(
            source_id=f"{agent}:{message.get('id', '')}",
            session_id=agent.replace("/", "-"),
            content=said,
            created_at=time_of(message.get("created_at")),
            role=role,
        )
    )


def _said(message: Mapping[str, Any], role: Role) -> str | None:
    """What was said to the other; None for what was only thought, done or noticed."""
    text = text_of(message.get("content"))
    if role is Role.USER:
        event = _object(text)
        if event is None:
            return text
        return str(event.get("message") or "") if event.get("type") in _IS_SAID and "message" in event else None
    calls = listed(message.get("tool_calls") or [], "tool_calls")
    if not calls:
        return text
    functions = [call.get("function") for call in calls]
    sent = [
        str(arguments["message"])
        for function in functions
        if isinstance(function, Mapping) and function.get("name") == _SAYS
        if (arguments := _object(str(function.get("arguments")))) is not None and "message" in arguments
    ]
    return "\n".join(sent) or None


def _object(text: str) -> dict[str, Any] | None:
    try:
        read = json.loads(text)
    except ValueError:
        return None
    return read if isinstance(read, dict) else None
