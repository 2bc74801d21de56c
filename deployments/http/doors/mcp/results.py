"""Results of the tools: each says that what it holds was stored, and is nothing to obey."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Self

from pydantic import BaseModel, Field

from ..stored_text import NOTICE


class Stored(BaseModel):
    """A result with stored text."""

    notice: str = Field(default=NOTICE, description="How to read the stored text of this result.")


class KeptMemory(BaseModel):
    """A memory."""

    id: str
    memory: str = Field(description="What was said or noted.")
    role: str | None = Field(default=None, description="Who said it: user or assistant.")
    run_id: str | None = Field(default=None, description="The conversation.")
    metadata: dict[str, Any] = {}
    created_at: datetime
    updated_at: datetime | None = None
    score: float | None = Field(default=None, description="How well it fits the query, 0 to 1.")

    @classmethod
    def of(cls, memory: Mapping[str, Any]) -> Self:
        """A memory of the timeline."""
        shown = {name: memory[name] for name in ("role", "metadata", "created_at", "updated_at")}
        return cls(id=memory["memory_id"], memory=memory["text"], run_id=memory["session_id"], **shown)

    @classmethod
    def found(cls, hit: Mapping[str, Any]) -> Self:
        """A hit of a search, with its references resolved."""
        shown = {name: hit[name] for name in ("id", "role", "metadata", "created_at", "score")}
        return cls(memory=hit["resolved"] or hit["text"], run_id=hit["session_id"], **shown)


class AddedMemory(BaseModel):
    """A memory that was added; its id stays valid."""

    id: str
    memory: str
    event: str


class Added(Stored):
    """What was added; search finds it at once."""

    results: list[AddedMemory]


class Found(Stored):
    """Memories that fit, best first."""

    results: list[KeptMemory]
    unanswered: float | None = Field(description="How probably no memory answers the question; null for no question.")


class Page(Stored):
    """A page of memories, latest first."""

    results: list[KeptMemory]
    page: int
    has_more: bool


class One(Stored):
    """One memory and the facts that it states."""

    result: KeptMemory
    facts: list[str] = Field(default=[], description="Subject, predicate and object.")


class Deleted(BaseModel):
    """What was deleted."""

    deleted: int | None = Field(description="Memories; null where a whole memory or conversation was erased.")
    is_done: bool = Field(description="False while some store has not finished yet; it does so without a further call.")


class KnownEntity(BaseModel):
    """A person, place, product or other name that the memory knows."""

    id: str
    name: str
    type: str | None
    aliases: list[str]
    mentions: int
    last_mentioned: datetime

    @classmethod
    def of(cls, entity: Mapping[str, Any]) -> Self:
        """An entity as the service shows it."""
        return cls(
            id=entity["entity_id"],
            name=entity["entity_value"],
            type=entity["subtype"],
            aliases=entity["aliases"],
            mentions=entity["mention_count"],
            last_mentioned=entity["last_mentioned"],
        )


class Entities(Stored):
    """Entities, latest mentioned first."""

    results: list[KnownEntity]


class Reference(BaseModel):
    """A word such as "it", "這個" or "the second one", and what it means."""

    reference: str
    meaning: str
    source: str = Field(description="Where that was found: session, long_term or inference.")
    confidence: float


class Resolved(Stored):
    """A query that stands alone."""

    resolved_query: str = Field(description="The query with its references replaced; unchanged where none is sure.")
    references: list[Reference]
    question: str | None = Field(description="What to ask the person where a reference is ambiguous.")
