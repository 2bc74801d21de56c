"""LlamaIndex: a `BaseMemoryBlock` for its `Memory`."""

from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemoryBlock
from more_itertools import chunked
from pydantic import PrivateAttr
from typing_extensions import override

from deployments.http.doors.stored_text import marked

from ..client.clients import AsyncClient

_ROLES = {MessageRole.USER: "user", MessageRole.ASSISTANT: "assistant"}
_AT_ONCE = 256


class JiyiMemoryBlock(BaseMemoryBlock[str]):
    """Puts what is remembered about the last message into the prompt, and keeps what leaves the short-term memory.

    `Memory` hands over messages when its token limit is reached, and never the last turn: with a small
    `chat_history_token_ratio` and `token_flush_size` they are remembered early.

    Args:
        client: A client of the service.
        user_id: Whose memory it is.
        session_id: The conversation, where `Memory` names none.
    """

    name: str = "jiyi"
    user_id: str
    session_id: str = "default"
    _client: AsyncClient = PrivateAttr()

    def __init__(self, client: AsyncClient, **fields: Any) -> None:
        super().__init__(**fields)
        self._client = client

    @override
    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        asked = next((m.content for m in reversed(messages or []) if m.role == MessageRole.USER and m.content), None)
        if asked is None:
            known = (await self._client.context(user_id=self.user_id)).context
        else:
            session = block_kwargs.get("session_id") or self.session_id
            reply = await self._client.before_reply(asked, user_id=self.user_id, session_id=session)
            known = reply.context
        return marked(known) if known else ""

    @override
    async def _aput(self, messages: list[ChatMessage]) -> None:
        by_session: dict[str, list[dict[str, str]]] = {}
        for message in messages:
            if message.role in _ROLES and message.content:
                session = message.additional_kwargs.get("session_id") or self.session_id
                said = {"role": _ROLES[message.role], "content": message.content}
                by_session.setdefault(session, []).append(said)
        for session, turns in by_session.items():
            for batch in chunked(turns, _AT_ONCE):
                await self._client.add(batch, user_id=self.user_id, session_id=session)
