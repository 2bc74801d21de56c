"""What the system of record in memory holds, and how a unit of work sees it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from memory.ports.vectors import Collection
from memory.values.changes import Change
from memory.values.entities import Entity, EntityRelation
from memory.values.facts import Category, CategoryAccess, Fact, GraphEdge
from memory.values.records import Memory, Resource
from memory.values.typed_memories import TypedMemory


@dataclass
class UserData:
    """What one user has, by id; never changed once it is shared, only replaced by a changed copy."""

    resources: dict[str, Resource] = field(default_factory=dict)
    unlearned: dict[str, None] = field(default_factory=dict)
    entities: dict[str, Entity] = field(default_factory=dict)
    relations: dict[str, EntityRelation] = field(default_factory=dict)
    memories: dict[str, Memory] = field(default_factory=dict)
    facts: dict[str, Fact] = field(default_factory=dict)
    categories: dict[str, Category] = field(default_factory=dict)
    accesses: dict[str, CategoryAccess] = field(default_factory=dict)
    edges: dict[str, GraphEdge] = field(default_factory=dict)
    typed_memories: dict[str, TypedMemory] = field(default_factory=dict)
    changes: dict[str, Change] = field(default_factory=dict)
    outbox: dict[tuple[Collection, str], int] = field(default_factory=dict)

    def copy(self) -> "UserData":
        """Dictionaries of its own, of the same values."""
        return UserData(**{one.name: dict(getattr(self, one.name)) for one in fields(self)})

    @property
    def any(self) -> bool:
        """Whether there is anything, besides what waits for the vector index."""
        kept: list[dict[str, Any]] = [getattr(self, one.name) for one in fields(self) if one.name != "outbox"]
        return any(kept)

    def queue(self, collection: Collection, item_ids: Iterable[str], numbers: Iterator[int]) -> None:
        """Queues items for the vector index; one that waits already gets a new number."""
        for item_id in item_ids:
            self.outbox[collection, item_id] = next(numbers)


class State:
    """The data that a unit of work sees, and whether it may still touch them.

    Args:
        data: A copy of its own, where it may write.
        user_id: Whose they are.
        numbers: Where numbers of the log and the outbox come from.
        can_write: Whether the unit was opened for writing.
    """

    def __init__(self, data: UserData, user_id: str, numbers: Iterator[int], *, can_write: bool) -> None:
        self.user_id = user_id
        self.numbers = numbers
        self.can_write = can_write
        self.over = False
        self._data = data

    @property
    def readable(self) -> UserData:
        """The data, to look at.

        Raises:
            RuntimeError: The unit of work is over.
        """
        if self.over:
            raise RuntimeError("this unit of work is over")
        return self._data

    @property
    def writable(self) -> UserData:
        """The data, to change.

        Raises:
            RuntimeError: The unit of work is over, or was opened for reading only.
        """
        if not self.can_write:
            raise RuntimeError("this unit of work was opened for reading")
        return self.readable

    def queue(self, collection: Collection, item_ids: Iterable[str]) -> None:
        """Queues items that the unit of work changes."""
        self.writable.queue(collection, item_ids, self.numbers)
