"""Facts in ArangoDB, with keys of what they say in the form in which it is compared."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from typing_extensions import override

from memory.ports.stores.facts import FactRepository, Facts, Strings
from memory.ports.stores.places import Place
from memory.ports.stores.repositories import Access
from memory.ports.stores.vectors import Collection
from memory.values.errors import NotFound
from memory.values.facts import Fact, FactStatus

from ...shared.checks import check_aware, check_owner
from ...shared.stored_values import timestamp_us, with_status
from ..engine import documents
from ..engine import queries as aql
from ..engine.documents import ArangoRepository
from ..engine.facts import fact_document, key_of_names
from ..engine.keys import ascii_of, key_of, order_of, text_of
from ..engine.transaction import ArangoTransaction, Query

_COLLECTION = "facts"
_ACTIVE = FactStatus.ACTIVE.value
_DELETED = FactStatus.DELETED.value
_NO_LIMIT = 2**31 - 1
"""AQL's LIMIT takes no null."""


class ArangoFacts(ArangoRepository, FactRepository):
    """The facts of one user."""

    @override
    async def get(self, fact_id: str) -> Fact | None:
        return next(iter(await self.get_many([fact_id])), None)

    @override
    async def get_many(self, fact_ids: Sequence[str]) -> Facts:
        return await self._transaction.read(lambda query: self._by_id(query, fact_ids))

    @override
    async def create_many(self, facts: Sequence[Fact]) -> Strings:
        check_owner(facts, self._user_id)
        first: dict[str, Fact] = {}
        for fact in facts:
            first.setdefault(key_of(self._user_id, fact.fact_id), fact)

        def work(query: Query) -> Strings:
            stored = documents.existing(query, _COLLECTION, first)
            self._put(query, [fact for key, fact in first.items() if key not in stored])
            return [fact.fact_id for fact in facts]

        return await self._transaction.write(work)

    @override
    async def update(self, fact: Fact) -> None:
        check_owner([fact], self._user_id)

        def work(query: Query) -> None:
            if not documents.existing(query, _COLLECTION, [key_of(self._user_id, fact.fact_id)]):
                raise NotFound(f"There is no fact {fact.fact_id!r}.")
            self._put(query, [fact])

        await self._transaction.write(work)

    @override
    async def update_status(self, fact_id: str, status: FactStatus, *, now: datetime) -> bool:
        check_aware(now, "now")

        def work(query: Query) -> bool:
            found = self._by_id(query, [fact_id])
            self._put(query, [with_status(fact, status, now=now) for fact in found])
            return bool(found)

        return await self._transaction.write(work)

    @override
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        def work(query: Query) -> None:
            facts = documents.accessed_by_id(query, _COLLECTION, Fact, self._user_id, accesses)
            documents.put(query, _COLLECTION, [fact_document(fact) for fact in facts])

        await self._transaction.write(work)

    @override
    async def list(
        self,
        *,
        category: str | None = None,
        status: FactStatus | None = FactStatus.ACTIVE,
        behind: Place | None = None,
        limit: int = 100,
    ) -> Facts:
        at, order = (
            (None, "") if behind is None else (timestamp_us(check_aware(behind[0], "behind")), order_of(behind[1]))
        )
        return await self._values(Fact, aql.FACTS, **_filter(category, status), at=at, order=order, limit=max(limit, 0))

    @override
    async def page(self, *, after: str | None = None, limit: int) -> Facts:
        return await self._page(Fact, _COLLECTION, after=after, limit=limit)

    @override
    async def count(self, *, category: str | None = None, status: FactStatus | None = FactStatus.ACTIVE) -> int:
        return await self._transaction.read(lambda query: int(query(aql.COUNT_FACTS, **_filter(category, status))[0]))

    @override
    async def find_potential_conflicts(self, subject: str, predicate: str, *, exclude_id: str | None = None) -> Facts:
        about = self._key(subject, predicate)
        left_out = None if exclude_id is None else key_of(self._user_id, exclude_id)
        return await self._values(Fact, aql.CONFLICTING_FACTS, about=about, active=_ACTIVE, left_out=left_out)

    @override
    async def history(self, subject: str, predicate: str, *, limit: int | None = None) -> Facts:
        about = self._key(subject, predicate)
        count = _NO_LIMIT if limit is None else max(limit, 0)
        return await self._values(Fact, aql.FACT_HISTORY, about=about, deleted=_DELETED, limit=count)

    @override
    async def stating(self, subject: str, predicate: str, objects: Sequence[str]) -> Facts:
        says = list(dict.fromkeys(self._key(subject, predicate, name) for name in objects))
        return await self._values(Fact, aql.FACTS_STATING, says=says, deleted=_DELETED)

    @override
    async def stated_in(self, resource_ids: Sequence[str]) -> Facts:
        sources = [key_of(self._user_id, resource_id) for resource_id in resource_ids]
        return await self._values(Fact, aql.FACTS_STATED_IN, sources=sources, deleted=_DELETED)

    @override
    async def list_duplicates(self) -> Sequence[tuple[Fact, ...]]:
        def work(query: Query) -> Sequence[tuple[Fact, ...]]:
            groups = [tuple(documents.parse(Fact, bodies)) for bodies in query(aql.DUPLICATE_FACTS, active=_ACTIVE)]
            return sorted(groups, key=lambda group: group[0].fact_id)

        return await self._transaction.read(work)

    @override
    async def list_distinct_categories(self, *, status: FactStatus | None = FactStatus.ACTIVE) -> Strings:
        return sorted(await facts_by_category(self._transaction, status))

    @override
    async def list_old_low_confidence(self, *, recorded_before: datetime, below: float) -> Facts:
        before = timestamp_us(check_aware(recorded_before, "recorded_before"))
        return await self._values(Fact, aql.OLD_UNSURE_FACTS, active=_ACTIVE, before=before, below=below)

    @override
    async def get_stats_by_status(self) -> Mapping[FactStatus, int]:
        def work(query: Query) -> dict[FactStatus, int]:
            found = dict(query(aql.FACTS_BY_STATUS))
            return {status: int(found.get(status.value, 0)) for status in FactStatus}

        return await self._transaction.read(work)

    @override
    async def get_avg_confidence(self, *, status: FactStatus | None = FactStatus.ACTIVE) -> float | None:
        def work(query: Query) -> float | None:
            (mean,) = query(aql.FACTS_CONFIDENCE, status=_value(status))
            return None if mean is None else float(mean)

        return await self._transaction.read(work)

    @override
    async def list_all_ids(self, *, status: FactStatus | None = FactStatus.ACTIVE) -> Strings:
        return await self._transaction.read(lambda query: query(aql.FACT_IDS, status=_value(status)))

    def _by_id(self, query: Query, fact_ids: Sequence[str]) -> Facts:
        return documents.by_id(query, _COLLECTION, Fact, self._user_id, fact_ids)

    def _put(self, query: Query, facts: Sequence[Fact]) -> None:
        documents.put(query, _COLLECTION, [fact_document(fact) for fact in facts])
        documents.enqueue(self._transaction, query, Collection.FACTS, [fact.fact_id for fact in facts])

    def _key(self, *names: str) -> str:
        return key_of_names(self._user_id, *names)


async def facts_by_category(transaction: ArangoTransaction, status: FactStatus | None) -> dict[str, int]:
    """The number of facts of a status by category; categories without such facts are left out."""

    def work(query: Query) -> dict[str, int]:
        return {text_of(name): int(total) for name, total in query(aql.FACTS_BY_CATEGORY, status=_value(status))}

    return await transaction.read(work)


def _value(status: FactStatus | None) -> str | None:
    return None if status is None else status.value


def _filter(category: str | None, status: FactStatus | None) -> dict[str, str | None]:
    return {"category": None if category is None else ascii_of(category), "status": _value(status)}
