"""Facts, their categories and the graph that they span (002 §3, DESIGN §4).

A `Fact` is 002's Item. What is filed under a category, and how categories are ranked, comes with the facts' own issue;
the values are here because the system of record keeps them.
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
    """Subject, predicate, object, and how long it holds.

    `supersedes` is the fact that this one took the place of; that one is kept, archived. `valid_from` and `valid_to`
    say when it holds in the world, `recorded_at` when Jiyi heard of it, so that "used to like A, now likes B" answers
    both now and then. Names are compared by `memory.values.text.normalise`.
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
    """A category of facts with its summary; a user has one of each name."""

    category_id: str
    user_id: UserId
    name: str
    summary: str = ""
    updated_at: Timestamp


class CategoryAccess(Value):
    """That a category was used; what priorities are computed from (002 §4.3)."""

    access_id: str
    user_id: UserId
    category: str
    accessed_at: Timestamp
    source: str


class GraphEdge(Value):
    """An edge of the graph of facts, from subject to object (002 §3.2). Names are its vertices, compared by
    `memory.values.text.normalise`; a user has one edge of each subject, predicate and object.
    """

    edge_id: str
    user_id: UserId
    subject: str
    predicate: str
    object: str
    weight: float = Field(default=1.0, ge=0)
    created_at: Timestamp
