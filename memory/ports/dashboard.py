"""What the dashboard counts beside runs (004 §6.2)."""

from abc import ABC, abstractmethod

from ..values.base import Value


class KnowledgeTotals(Value):
    """How much knowledge there is."""

    corpora: int
    chunks: int


class KnowledgeCounts(ABC):
    """Counts the knowledge of apps."""

    @abstractmethod
    async def totals(self, *, app: str | None) -> KnowledgeTotals:
        """The corpora and chunks of this app; of all apps for None.

        Raises:
            StoreUnavailable: The record is away.
        """
