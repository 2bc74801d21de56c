"""Strands Agents: a `MemoryStore` for its `MemoryManager`."""

from typing import Any
from uuid import uuid4

from more_itertools import chunked
from strands.memory import AddMessagesContext, ExtractionConfig, MemoryEntry, MemoryStore, SearchOptions
from strands.types.content import Message
from typing_extensions import override

from ..client.clients import AsyncClient

_AT_ONCE = 256


class JiyiMemoryStore(MemoryStore):
    """Searches and keeps memories of one user; with `extraction` the manager hands over what was said, too.

    Args:
        client: A client of the service.
        user_id: Whose memory it is.
        session_id: The conversation.
        name: The name of this store in the tools of the agent.
        max_search_results: How many memories a search returns where it does not say.
        extraction: When the manager hands over messages; False for never.
    """

    def __init__(
        self,
        client: AsyncClient,
        *,
        user_id: str,
        session_id: str = "default",
        name: str = "jiyi",
        max_search_results: int = 10,
        extraction: ExtractionConfig | bool = True,
    ) -> None:
        self.name = name
        self.description: str | None = "What the person said in earlier conversations, in Chinese and English."
        self.max_search_results: int | None = max_search_results
        self.writable = True
        self.extraction: ExtractionConfig | bool | None = extraction
        self._client = client
        self._user_id = user_id
        self._session_id = session_id
        self._run_id = uuid4().hex

    @override
    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        top_k = (options or {}).get("max_search_results") or self.max_search_results
        found = await self._client.search(query, user_id=self._user_id, top_k=top_k, kinds=["memory"])
        return [
            MemoryEntry(
                hit.meant,
                metadata={"id": hit.id, "score": hit.score, "created_at": hit.created_at.isoformat(), **hit.metadata},
            )
            for hit in found.results
        ]

    @override
    async def add(self, content: str, metadata: dict[str, Any] | None = None) -> str:
        """Keeps a note; returns its id."""
        added = await self._client.add_text(
            content, user_id=self._user_id, session_id=self._session_id, metadata=metadata
        )
        return added.results[0].id

    @override
    async def add_messages(self, messages: list[Message], context: AddMessagesContext | None = None) -> None:
        """Keeps what was said; a batch that is handed over again is kept once."""
        numbers = context.sequence_numbers if context and context.sequence_numbers else [None] * len(messages)
        turns = []
        for message, number in zip(messages, numbers, strict=True):
            text = "\n".join(block["text"] for block in message["content"] if block.get("text")).strip()
            if text:
                identity = {} if number is None else {"turn_id": f"{self._run_id}-{number}"}
                turns.append({"role": message["role"], "content": text, **identity})
        for batch in chunked(turns, _AT_ONCE):
            await self._client.add(batch, user_id=self._user_id, session_id=self._session_id)
