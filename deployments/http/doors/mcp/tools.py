"""The tools: mem0's names and arguments over our own operations, and `resolve_reference`."""

from typing import Annotated, Any
from uuid import UUID

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from more_itertools import chunked
from pydantic import Field

from memory.values.governance.decisions import MAX_DECISIONS

from .api import ApiOf, Refused
from .arguments import (
    NO_FILTERS,
    AgentArg,
    AppArg,
    Filters,
    MemoryArg,
    Message,
    MetadataArg,
    RunArg,
    UserArg,
    tagged,
)
from .results import (
    Added,
    AddedMemory,
    Deleted,
    Entities,
    Found,
    KeptMemory,
    KnownEntity,
    One,
    Page,
    Reference,
    Resolved,
)

_DONE = "done"


class Tools:
    """The nine tools; the docstring of each is what an agent reads of it.

    Args:
        api_of: Returns the API as the sender of the present message may use it.
    """

    def __init__(self, api_of: ApiOf) -> None:
        self._api_of = api_of

    def register(self, server: MCPServer) -> None:
        """Adds the tools to a server, with hints of what they do (closed world: they reach nothing but the memory)."""
        reads = ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        )
        adds = ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
        )
        changes = ToolAnnotations(
            read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
        )
        for tool, title, hints in (
            (self.add_memory, "Remember", adds),
            (self.search_memories, "Search the memory", reads),
            (self.get_memories, "List memories", reads),
            (self.get_memory, "Show a memory", reads),
            (self.update_memory, "Rewrite a memory", changes),
            (self.delete_memory, "Delete a memory", changes),
            (self.delete_all_memories, "Erase memories", changes),
            (self.list_entities, "List known names", reads),
            (self.resolve_reference, "Resolve references", reads),
        ):
            server.add_tool(tool, title=title, annotations=hints, structured_output=True)

    async def add_memory(
        self,
        text: Annotated[str | None, Field(description="A note. Give this or messages.")] = None,
        messages: Annotated[
            list[Message] | None, Field(description="Messages of a conversation, oldest first. Give these or text.")
        ] = None,
        user_id: UserArg = None,
        agent_id: AgentArg = None,
        app_id: AppArg = None,
        run_id: RunArg = None,
        metadata: MetadataArg = None,
    ) -> Added:
        """Keeps something for later conversations: a preference, a fact about the person, a decision, or messages.

        What is added can be found when this returns.
        """
        body = {
            "user_id": user_id,
            "session_id": run_id,
            "text": text,
            "messages": None if messages is None else [message.model_dump() for message in messages],
            "metadata": tagged(metadata, agent_id=agent_id, app_id=app_id),
        }
        reply = await self._api_of().call("POST", "/memories", body=body)
        return Added(results=[AddedMemory.model_validate(added) for added in reply["results"]])

    async def search_memories(
        self,
        query: Annotated[str, Field(description="A question or words, best as the person said them.")],
        filters: Filters = NO_FILTERS,
        limit: Annotated[int, Field(ge=1, le=100)] = 10,
        user_id: UserArg = None,
    ) -> Found:
        """Finds what is remembered about something. Call it before answering anything that may have come up before.

        A query that says "it" or "that" should go through resolve_reference first.
        """
        wanted = filters.of(user_id)
        conditions = {
            "session_id": wanted.run_id,
            "created_from": wanted.since,
            "created_to": wanted.last,
            "metadata": wanted.entries,
        }
        body = {"user_id": wanted.user_id, "query": query, "top_k": limit, "kinds": ["memory"], "filters": conditions}
        reply = await self._api_of().call("POST", "/search", body=body)
        return Found(results=[KeptMemory.found(hit) for hit in reply["results"]], unanswered=reply["unanswered"])

    async def get_memories(
        self,
        filters: Filters = NO_FILTERS,
        page: Annotated[int, Field(ge=1, le=50)] = 1,
        page_size: Annotated[int, Field(ge=1, le=100)] = 20,
        user_id: UserArg = None,
    ) -> Page:
        """Lists memories, latest first; to look for something, search_memories is better."""
        start, end = (page - 1) * page_size, page * page_size
        found = [memory async for memory in self._matching(filters.of(user_id), at_most=end + 1)]
        shown = [KeptMemory.of(memory) for memory in found[start:end]]
        return Page(results=shown, page=page, has_more=len(found) > end)

    async def get_memory(self, memory_id: MemoryArg, user_id: UserArg = None) -> One:
        """Shows one memory with the facts that it states."""
        found = await self._api_of().call("GET", _path(memory_id), params={"user_id": user_id})
        return _one(found)

    async def update_memory(
        self,
        memory_id: MemoryArg,
        text: Annotated[str, Field(description="What the memory says from now on.")],
        user_id: UserArg = None,
    ) -> One:
        """Corrects what a memory says. For something that has changed since, add a new memory instead."""
        body = {"user_id": user_id, "text": text}
        edited = await self._api_of().call("PUT", _path(memory_id), body=body)
        return _one(edited["memory"])

    async def delete_memory(self, memory_id: MemoryArg, user_id: UserArg = None) -> Deleted:
        """Deletes a memory with its message and what was learned only from it. This cannot be undone."""
        params = {"user_id": user_id, "wait": True}
        record = await self._api_of().call("DELETE", _path(memory_id), params=params)
        return Deleted(deleted=len(record["decided"]), is_done=await self._are_done(record["erasures"]))

    async def delete_all_memories(
        self,
        user_id: UserArg = None,
        agent_id: AgentArg = None,
        app_id: AppArg = None,
        run_id: RunArg = None,
    ) -> Deleted:
        """Erases everything that is remembered of the person, or with agent_id, app_id or run_id only what has those.

        This cannot be undone: do it only where the person has asked for exactly that.
        """
        if agent_id is None and app_id is None:
            scope = {"kind": "user"} if run_id is None else {"kind": "session", "session_id": run_id}
            erasure = await self._api_of().call("POST", "/erasures", body={"user_id": user_id, "wait": True, **scope})
            return Deleted(deleted=None, is_done=erasure["state"] == _DONE)
        wanted = Filters(user_id=user_id, agent_id=agent_id, app_id=app_id, run_id=run_id)
        found = [memory["memory_id"] async for memory in self._matching(wanted)]
        erasures: list[str] = []
        for ids in chunked(found, MAX_DECISIONS):
            body = {"user_id": user_id, "decisions": dict.fromkeys(ids, "delete"), "wait": True}
            record = await self._api_of().call("POST", "/memories/audit", body=body)
            erasures += record["erasures"]
        return Deleted(deleted=len(found), is_done=await self._are_done(erasures))

    async def list_entities(self, limit: Annotated[int, Field(ge=1, le=100)] = 20, user_id: UserArg = None) -> Entities:
        """Lists the people, places, products and other names that the memory knows, latest mentioned first."""
        reply = await self._api_of().call("GET", "/entities", params={"user_id": user_id, "limit": limit})
        return Entities(results=[KnownEntity.of(entity) for entity in reply["results"]])

    async def resolve_reference(
        self,
        query: Annotated[str, Field(description="The message with words such as it, 這個, 上次說的, the second one.")],
        history: Annotated[
            list[Message] | None, Field(description="The messages before it, oldest first. Give these or run_id.")
        ] = None,
        run_id: RunArg = None,
        user_id: UserArg = None,
    ) -> Resolved:
        """Finds what "it", "that one", "這個" or "他" refers to and rewrites the message so that it stands alone."""
        turns = None if history is None else [message.model_dump() for message in history]
        body = {"user_id": user_id, "query": query, "session_id": run_id, "history": turns}
        reply = await self._api_of().call("POST", "/resolve", body=body)
        references = [
            Reference(
                reference=found["original_text"],
                meaning=found["resolved_text"],
                source=found["source"],
                confidence=found["confidence"],
            )
            for found in reply["resolutions"]
        ]
        question = reply["clarification"] and reply["clarification"]["question"]
        return Resolved(resolved_query=reply["resolved_query"], references=references, question=question)

    async def _matching(self, wanted: Filters, *, at_most: int | None = None) -> Any:
        """The memories that meet the filters, latest first."""
        count = 0
        times = {"since": wanted.since, "until": wanted.until}
        async for memory in self._api_of().memories(user_id=wanted.user_id, **times):
            if wanted.match(memory):
                yield memory
                count += 1
                if count == at_most:
                    return

    async def _are_done(self, erasures: list[str]) -> bool:
        states = [(await self._api_of().call("GET", f"/erasures/{id_}"))["state"] for id_ in erasures]
        return all(state == _DONE for state in states)


def _path(memory_id: str) -> str:
    """The path of a memory; anything but an id could name another operation."""
    try:
        return f"/memories/{UUID(memory_id)}"
    except ValueError:
        advice = "Take one from search_memories or get_memories."
        raise Refused(f"memory_id: {memory_id!r} is no id of a memory. {advice}") from None


def _one(retained: dict[str, Any]) -> One:
    facts = [retained_fact["fact"] for retained_fact in retained["facts"]]
    return One(
        result=KeptMemory.of(retained["memory"]),
        facts=[f"{fact['subject']} {fact['predicate']} {fact['object']}" for fact in facts],
    )
