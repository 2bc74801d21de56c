"""Google's Agent Development Kit: a `BaseMemoryService` for its `Runner`."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai import types
from more_itertools import chunked
from typing_extensions import override

from ..client.clients import AsyncClient

_AT_ONCE = 256
_APP = "app_name"


class JiyiMemoryService(BaseMemoryService):
    """Keeps the events of sessions as turns, each once however often it is added; an app finds only its own.

    Args:
        client: A client of the service.
        top_k: How many memories a search returns at most.
    """

    def __init__(self, client: AsyncClient, *, top_k: int = 10) -> None:
        self._client = client
        self._top_k = top_k

    @override
    async def add_session_to_memory(self, session: Session) -> None:
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    @override
    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        metadata = {**(custom_metadata or {}), _APP: app_name}
        turns = [turn for event in events if (turn := _turn(event))]
        for batch in chunked(turns, _AT_ONCE):
            session: dict[str, Any] = {} if session_id is None else {"session_id": session_id}
            await self._client.add(batch, user_id=user_id, metadata=metadata, **session)

    @override
    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        filters = {"metadata": {_APP: app_name}}
        found = await self._client.search(query, user_id=user_id, top_k=self._top_k, kinds=["memory"], filters=filters)
        return SearchMemoryResponse(
            memories=[
                MemoryEntry(
                    id=hit.id,
                    content=types.Content(role=_role(hit.role), parts=[types.Part(text=hit.meant)]),
                    author=hit.speaker or hit.role,
                    timestamp=hit.created_at.isoformat(),
                    custom_metadata=dict(hit.metadata),
                )
                for hit in found.results
            ]
        )

    @override
    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        if memory_id is None:
            raise ValueError("memory_id: needed; search_memory returns it")
        await self._client.memories.delete(memory_id, user_id=user_id, wait=True)


def _role(role: str | None) -> str:
    return "model" if role == "assistant" else "user"


def _turn(event: Event) -> dict[str, Any] | None:
    """An event that says something; calls of tools and their results do not."""
    parts = event.content.parts if event.content else None
    text = "\n".join(part.text for part in parts or () if part.text and not part.thought).strip()
    if not text or event.partial:
        return None
    said_at = datetime.fromtimestamp(event.timestamp, UTC).isoformat()
    role = "user" if event.author == "user" else "assistant"
    turn = {"role": role, "content": text, "turn_id": event.id, "created_at": said_at}
    return turn if role == "user" else {**turn, "speaker": event.author}
