"""The interfaces of the domain's services: the retriever, the learner, and the worker that learns a backlog."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from datetime import datetime

from ..values.base import Value
from ..values.entities import Entity
from ..values.governance.changes import Held, ItemKind
from ..values.governance.forgetting import ForgetReport, ForgetRequest
from ..values.hits import SearchRequest, SearchResult


class Retriever(ABC):
    """Finds entities and memories of one user (000 §6.4)."""

    @abstractmethod
    async def search(self, request: SearchRequest) -> SearchResult:
        """Runs all legs in parallel and fuses them; a leg that fails is named in `degraded`.

        Raises:
            Overloaded: Too much waits for a model.
        """


class UseCounter(ABC):
    """Counts what answers and prompts held; that a search touched something is no use of it (001 §3.4, 002 §5)."""

    @abstractmethod
    def add(self, kind: ItemKind | Held, ids: Iterable[str], *, user_id: str, at: datetime) -> None:
        """Counts one use of each item; returns at once. Call it on the event loop."""


class LearnReport(Value):
    """The result of learning a user's backlog.

    `entities` are the entities that were new or mentioned again; `new_entities` counts the new ones.
    """

    resources: int = 0
    memories: int = 0
    new_entities: int = 0
    entities: tuple[Entity, ...] = ()
    indexed: int = 0


class LearningService(ABC):
    """Learns entities and memories from the raw log."""

    @abstractmethod
    def notify(self, *, user_id: str) -> None:
        """Announces new entries; returns at once, and they are learned in the background."""

    @abstractmethod
    async def learn(self, *, user_id: str) -> LearnReport:
        """Learns and indexes all of this user's backlog before it returns.

        Raises:
            Unavailable: A store or model is down. The work stays on the backlog and will be done later.
        """

    @abstractmethod
    async def forget(self, request: ForgetRequest) -> ForgetReport | None:
        """Learns the user's backlog and removes at once what a message asks to forget, which is stored nowhere.

        Returns:
            What became of it; None where the message does not ask to forget anything.

        Raises:
            Unavailable: A store or model is down. It is not known whether anything was removed.
            Overloaded: The queue of a model is full.
        """


class BacklogWorker(ABC):
    """Learns and indexes the backlog of all users in the background; the part that bulk indexing uses.

    Attributes:
        claimed: Users whose outbox is indexed in bulk meanwhile, so that the worker only learns their turns.
        waits_for: The error of the component that the worker waits for; empty while it works.
    """

    claimed: AbstractSet[str] = frozenset()
    waits_for: str = ""

    @abstractmethod
    def wake(self) -> None:
        """Makes the worker check the backlog at once."""
