"""The data of the in-memory system of record, and access to them within a unit of work."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TypeVar

from memory.ports.jobs import PipelineRun
from memory.ports.stores.repositories import Access
from memory.ports.stores.vectors import Collection
from memory.values.documents.corpora import ConfigVersion, Corpus, Knowledge, Source, SourceVersion
from memory.values.documents.graphs import GraphExtraction, GraphLink, GraphMention, GraphVersion
from memory.values.entities import Entity, EntityRelation
from memory.values.facts import Category, CategoryAccess, Fact, GraphEdge
from memory.values.governance.changes import Change
from memory.values.governance.retention import RetentionPolicy
from memory.values.items import ItemPlace, StoredItem
from memory.values.records import Memory, Resource

from ...shared.stored_values import AccessedT, with_access

_NO_RECORDS = frozenset(
    {
        "outbox",
        "retention_policies",
        "corpus_versions",
        "source_versions",
        "source_contents",
        "graphs",
        "graph_members",
        "graph_extractions",
        "graph_mentions",
        "graph_links",
    }
)
KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")
NumberedT = TypeVar("NumberedT", Resource, Change)


@dataclass
class UserData:
    """All records of one user, by id; immutable once shared, so changes are made to a copy that replaces it."""

    resources: dict[str, Resource] = field(default_factory=dict)
    unlearned: dict[str, None] = field(default_factory=dict)
    entities: dict[str, Entity] = field(default_factory=dict)
    relations: dict[str, EntityRelation] = field(default_factory=dict)
    memories: dict[str, Memory] = field(default_factory=dict)
    facts: dict[str, Fact] = field(default_factory=dict)
    categories: dict[str, Category] = field(default_factory=dict)
    accesses: dict[str, CategoryAccess] = field(default_factory=dict)
    edges: dict[str, GraphEdge] = field(default_factory=dict)
    changes: dict[str, Change] = field(default_factory=dict)
    retention_policies: dict[str, RetentionPolicy] = field(default_factory=dict)
    corpora: dict[str, Corpus] = field(default_factory=dict)
    corpus_versions: dict[tuple[str, int], ConfigVersion] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)
    source_versions: dict[tuple[str, int], SourceVersion] = field(default_factory=dict)
    source_contents: dict[tuple[str, int], bytes] = field(default_factory=dict)
    knowledge: dict[str, Knowledge] = field(default_factory=dict)
    graphs: dict[tuple[str, int], GraphVersion] = field(default_factory=dict)
    graph_members: dict[tuple[str, int, str], None] = field(default_factory=dict)
    graph_extractions: dict[str, GraphExtraction] = field(default_factory=dict)
    graph_mentions: dict[tuple[str, str, str, str], GraphMention] = field(default_factory=dict)
    graph_links: dict[tuple[str, str, str, str], GraphLink] = field(default_factory=dict)
    items: dict[ItemPlace, StoredItem] = field(default_factory=dict)
    outbox: dict[tuple[Collection, str], int] = field(default_factory=dict)

    def copy(self) -> "UserData":
        """A copy with dictionaries of its own and the same values."""
        return UserData(**{attribute.name: dict(getattr(self, attribute.name)) for attribute in fields(self)})

    @property
    def has_records(self) -> bool:
        """Whether there is any data besides the outbox, a policy, and versions of what is gone."""
        return any(getattr(self, attribute.name) for attribute in fields(self) if attribute.name not in _NO_RECORDS)

    def queue(self, collection: Collection, item_ids: Iterable[str], numbers: Iterator[int]) -> None:
        """Adds items to the outbox; an item that is on it already gets a new number."""
        for item_id in item_ids:
            self.outbox[collection, item_id] = next(numbers)


class State:
    """The data of one unit of work; access is checked.

    Args:
        data: For a writer, its own copy.
        user_id: The user whose data they are.
        numbers: The sequence numbers of the log and the outbox.
        can_write: Whether the unit was opened for writing.
    """

    def __init__(self, data: UserData, user_id: str, numbers: Iterator[int], *, can_write: bool) -> None:
        self.user_id = user_id
        self.numbers = numbers
        self.can_write = can_write
        self.over = False
        self.runs: list[PipelineRun] = []
        self._data = data

    @property
    def readable(self) -> UserData:
        """The data, for reading.

        Raises:
            RuntimeError: The unit of work is over.
        """
        if self.over:
            raise RuntimeError("this unit of work is over")
        return self._data

    @property
    def writable(self) -> UserData:
        """The data, for writing.

        Raises:
            RuntimeError: The unit of work is over, or was opened for reading only.
        """
        if not self.can_write:
            raise RuntimeError("this unit of work was opened for reading")
        return self.readable

    def queue(self, collection: Collection, item_ids: Iterable[str]) -> None:
        """Adds changed items to the outbox."""
        self.writable.queue(collection, item_ids, self.numbers)

    def save_runs(self, runs: Iterable[PipelineRun]) -> None:
        """Keeps runs that are saved with the commit."""
        _ = self.writable
        self.runs += runs


class InMemoryRepository:
    """A repository of one user.

    Args:
        state: The data that its unit of work sees.
    """

    def __init__(self, state: State) -> None:
        self._state = state


def existing(items: Mapping[str, ValueT], ids: Iterable[str]) -> list[ValueT]:
    """The items with these ids that exist, in the order of the ids."""
    return [items[id_] for id_ in ids if id_ in items]


def page_of(items: Mapping[str, ValueT], after: str | None, limit: int) -> list[ValueT]:
    """Items in the order of their ids, from the first id greater than `after`."""
    return [items[id_] for id_ in sorted(items) if after is None or id_ > after][: max(limit, 0)]


def behind(items: Sequence[ValueT], ids: Sequence[str], after: str | None, limit: int) -> list[ValueT]:
    """Items, whose ids are given, from the first behind the one with the id `after`; none where there is no such id."""
    if after is not None and after not in ids:
        return []
    start = 0 if after is None else ids.index(after) + 1
    return list(items[start : start + max(limit, 0)])


def in_order(items: Iterable[NumberedT], after: int | None, limit: int) -> list[NumberedT]:
    """Items in their order, from the first with a sequence greater than `after`."""
    return [item for item in items if after is None or item.sequence > after][: max(limit, 0)]


def delete_by_id(items: MutableMapping[KeyT, ValueT], ids: Iterable[KeyT]) -> list[KeyT]:
    """Deletes items and returns the ids of those that existed."""
    deleted = [id_ for id_ in dict.fromkeys(ids) if id_ in items]
    for id_ in deleted:
        del items[id_]
    return deleted


def count_accesses(items: MutableMapping[str, AccessedT], accesses: Iterable[Access]) -> None:
    """Adds accesses to the items that exist."""
    for access in accesses:
        if access.item_id in items:
            items[access.item_id] = with_access(items[access.item_id], access)
