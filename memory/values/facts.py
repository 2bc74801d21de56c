"""Facts, their categories and the graph that they span (002 §3, DESIGN §4).

A `Fact` is the Item of 002. Nothing files facts under categories or ranks categories yet; the values exist because the
system of record stores them.
"""

from enum import StrEnum

from pydantic import Field

from .base import Timestamp, UserId, Value
from .entities import Confidence


class FactStatus(StrEnum):
    """002 §3.3: active ⇄ archived → deleted."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    DELETED = "deleted"


class Fact(Value):
    """A statement with subject, predicate, object and period of validity.

    `supersedes` is the id of the fact that this one replaced, which stays in the record, archived. `valid_from` and
    `valid_to` bound the time in which it holds, `recorded_at` is when Jiyi learned it: "used to like A, now likes B"
    answers questions about now and about then. Names are compared by `memory.values.text.normalise`.
    """

    fact_id: str
    user_id: UserId
    resource_id: str
    subject: str
    predicate: str
    object: str
    category: str
    confidence: Confidence = 1.0
    status: FactStatus = FactStatus.ACTIVE
    supersedes: str | None = None
    valid_from: Timestamp | None = None
    valid_to: Timestamp | None = None
    recorded_at: Timestamp
    updated_at: Timestamp


class Category(Value):
    """A category of facts with its summary; its name is unique for the user."""

    category_id: str
    user_id: UserId
    name: str
    summary: str = ""
    updated_at: Timestamp


class CategoryAccess(Value):
    """One use of a category, from which its priority is computed (002 §4.3)."""

    access_id: str
    user_id: UserId
    category: str
    accessed_at: Timestamp
    source: str


class GraphEdge(Value):
    """An edge of the graph of facts, from subject to object (002 §3.2). Names are its vertices, compared by
    `memory.values.text.normalise`; subject, predicate and object together are unique for the user.
    """

    edge_id: str
    user_id: UserId
    subject: str
    predicate: str
    object: str
    weight: float = Field(default=1.0, ge=0)
    created_at: Timestamp
