"""Facts for the tests of the tiers and of the jobs."""

from datetime import UTC, datetime, timedelta
from typing import Any

from memory.values.facts import Fact
from memory.values.ids import fact_id

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def days_ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def fact(subject: str, predicate: str, object_: str, *, days: float = 0, user: str = "ann", **fields: Any) -> Fact:
    """Recorded so many days ago; its id says what it says and when it was said."""
    at = days_ago(days)
    defaults: dict[str, Any] = {
        "fact_id": fact_id(user, f"r-{days}", subject, predicate, object_),
        "resource_id": f"r-{days}",
        "category": "preferences",
        "confidence": 0.8,
        "recorded_at": at,
        "updated_at": at,
    }
    return Fact(user_id=user, subject=subject, predicate=predicate, object=object_, **defaults | fields)
