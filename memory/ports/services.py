"""What the domain's services are to each other: the retriever, the learner, and the worker that learns a backlog."""

from abc import ABC, abstractmethod
from collections.abc import Set as AbstractSet

from ..values.base import Value
from ..values.entities import Entity
from ..values.hits import SearchRequest, SearchResult


class Retriever(ABC):
    """Finds entities and memories of one user (000 §6.4)."""

    @abstractmethod
    async def search(self, request: SearchRequest) -> SearchResult:
        """Runs all legs in parallel and fuses them; a leg that fails is named in `degraded`."""


class LearnReport(Value):
    """What one pass over a user's backlog brought.

    `entities` are those that were new or mentioned again; `new_entities` counts the new ones.
    """

    resources: int = 0
    memories: int = 0
    new_entities: int = 0
    entities: tuple[Entity, ...] = ()
    indexed: int = 0


class LearningService(ABC):
    """Turns what the raw log holds into entities and memories."""

    @abstractmethod
    def notify(self, *, user_id: str) -> None:
        """Says that there is work; returns at once, the work is done in the background."""

    @abstractmethod
    async def learn(self, *, user_id: str) -> LearnReport:
        """Learns and indexes all of this user's backlog before it returns.

        Raises:
            Unavailable: A store or model is down. The work stays on the backlog and will be done later.
        """


class BacklogWorker(ABC):
    """What learns and indexes the backlog of all users in the background, as bulk indexing sees it.

    Attributes:
        claimed: Users whose outbox is indexed in bulk meanwhile, so that the worker only learns their turns.
        waits_for: What is wrong with the part that the worker waits for; empty while it gets on.
    """

    claimed: AbstractSet[str] = frozenset()
    waits_for: str = ""

    @abstractmethod
    def wake(self) -> None:
        """Has the worker look at the backlog at once."""
