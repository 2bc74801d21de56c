"""Microsoft Agent Framework: a `ContextProvider` over the two hooks of a turn (`/chat/before`, `/chat/after`)."""

from typing import Any

from agent_framework import AgentSession, ContextProvider, Message, SessionContext, SupportsAgentRun
from typing_extensions import override

from deployments.http.doors.stored_text import marked

from ..client.clients import AsyncClient


class JiyiContextProvider(ContextProvider):
    """Tells the agent what is remembered about each message, and remembers message and reply.

    Args:
        client: A client of the service.
        user_id: Whose memory it is.
        source_id: The name of this provider in the agent.
    """

    def __init__(self, client: AsyncClient, *, user_id: str, source_id: str = "jiyi") -> None:
        super().__init__(source_id)
        self._client = client
        self._user_id = user_id

    @override
    async def before_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        message = _text(context.input_messages, "user")
        if not message:
            return
        known = await self._client.before_reply(message, user_id=self._user_id, session_id=session.session_id)
        if known.context:
            context.extend_instructions(self.source_id, marked(known.context))

    @override
    async def after_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        message = _text(context.input_messages, "user")
        if not message:
            return
        reply = _text(context.response.messages, "assistant") if context.response else ""
        await self._client.after_reply(
            message, user_id=self._user_id, session_id=session.session_id, reply=reply or None
        )


def _text(messages: list[Message], role: str) -> str:
    """What was said in this role, without calls of tools and their results."""
    return "\n".join(message.text for message in messages if message.role == role and message.text).strip()
