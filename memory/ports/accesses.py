"""That something was retrieved: counted in batches, apart from what was said (001 §1.3, hotness)."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Access:
    """How often a thing was retrieved, and when for the last time.

    A repository that counts accesses leaves `version` and everything else of the thing as it is, skips what does not
    exist, and does not queue it for the vector index, whose copy of the count may lag.
    """

    item_id: str
    count: int
    at: datetime
