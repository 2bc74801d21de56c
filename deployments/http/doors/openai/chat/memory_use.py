"""What memory did for a reply: the extra field `jiyi` of replies and of their last chunk."""

from datetime import datetime
from typing import Any, Self

from pydantic import BaseModel

from memory.answering.answers import AnsweredBy
from memory.values.hits import Hit


class Source(BaseModel):
    """A memory that the reply was made from."""

    id: str
    kind: str
    text: str
    score: float
    session_id: str | None
    created_at: datetime

    @classmethod
    def of(cls, hit: Hit) -> Self:
        """The source that a hit is."""
        return cls(
            id=hit.id,
            kind=hit.kind.value,
            text=hit.meant,
            score=hit.score,
            session_id=hit.session_id,
            created_at=hit.created_at,
        )


class MemoryUse(BaseModel):
    """What memory did for a reply.

    `learned` says whether the person's message is in memory now; `session_id` in which session. `degraded` names parts
    that were away.
    """

    answered_by: AnsweredBy
    session_id: str | None = None
    resolved_query: str | None = None
    learned: bool = False
    sources: list[Source] = []
    degraded: list[str] = []

    def as_chunk(self) -> dict[str, Any]:
        """The JSON form."""
        return self.model_dump(mode="json")
