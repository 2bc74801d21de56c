"""Erasing in ArangoDB."""

from collections.abc import Iterable, Mapping, Sequence

from typing_extensions import override

from memory.ports.erasures import RecordErasure
from memory.ports.jobs import PipelineRun
from memory.ports.stores.vectors import Collection
from memory.values.facts import Category, CategoryAccess
from memory.values.governance.changes import Change
from memory.values.records import Resource

from ...shared.checks import check_owner
from ..engine import documents
from ..engine import queries as aql
from ..engine import run_queries as run_aql
from ..engine.documents import ArangoRepository
from ..engine.keys import ascii_of, key_of
from ..engine.runs import run_document
from ..engine.transaction import Query
from .changes import change_document, subject_documents
from .log import log_document


class ArangoErasure(ArangoRepository, RecordErasure):
    """Deletes and rewrites what otherwise is only appended."""

    @override
    async def delete(
        self,
        *,
        messages: Sequence[str] = (),
        facts: Sequence[str] = (),
        changes: Sequence[str] = (),
        categories: Sequence[str] = (),
    ) -> Mapping[str, int]:
        def work(query: Query) -> dict[str, int]:
            known = documents.by_id(query, "changes", Change, self._user_id, changes)
            documents.remove(query, "change_subjects", self._subject_keys(known))
            gone = documents.delete(self._transaction, query, "facts", Collection.FACTS, facts)
            return {
                "messages": documents.remove(query, "resources", self._keys(messages)),
                "facts": len(gone),
                "changes": documents.remove(query, "changes", self._keys(changes)),
                "categories": self._delete_categories(query, categories) if categories else 0,
            }

        return await self._transaction.write(work)

    @override
    async def rewrite(self, *, messages: Sequence[Resource] = (), changes: Sequence[Change] = ()) -> None:
        check_owner([*messages, *changes], self._user_id)

        def work(query: Query) -> None:
            self._rewrite_messages(query, messages)
            ids = [change.change_id for change in changes]
            known = {
                change.change_id: change for change in documents.by_id(query, "changes", Change, self._user_id, ids)
            }
            rewritten = [
                change.model_copy(update={"sequence": known[change.change_id].sequence})
                for change in changes
                if change.change_id in known
            ]
            documents.remove(query, "change_subjects", self._subject_keys(known.values()))
            subjects = [subject for change in rewritten for subject in subject_documents(self._user_id, change)]
            documents.put(query, "change_subjects", subjects)
            documents.put(query, "changes", [change_document(self._user_id, change) for change in rewritten])

        await self._transaction.write(work)

    @override
    async def request(self, requests: Sequence[PipelineRun]) -> None:
        owner = {"user_id": ascii_of(self._user_id)}
        runs = [run_document(run) | owner for run in requests]
        await self._transaction.write(lambda query: query(run_aql.RUNS_OF_A_UNIT_OF_WORK, runs=runs))

    def _rewrite_messages(self, query: Query, messages: Sequence[Resource]) -> None:
        keys = {key_of(self._user_id, resource.resource_id): resource for resource in messages}
        rewritten = []
        for key, sequence in documents.existing(query, "resources", keys).items():
            place = sequence or 0
            waiting = documents.parse(Resource, query(aql.UNLEARNED_PAGE, after=place - 1, limit=1))
            is_learned = all(resource.sequence != place for resource in waiting)
            rewritten.append(log_document(key, keys[key], place) | {"learned": is_learned})
        documents.put(query, "resources", rewritten)

    def _delete_categories(self, query: Query, category_ids: Sequence[str]) -> int:
        ids = set(category_ids)
        found = documents.parse(Category, query(aql.CATEGORIES))
        names = [category.name for category in found if category.category_id in ids]
        accesses = documents.parse(CategoryAccess, query(aql.CATEGORY_ACCESSES))
        used = [access.access_id for access in accesses if access.category in names]
        documents.remove(query, "category_accesses", self._keys(used))
        return documents.remove(query, "categories", self._keys(names))

    def _keys(self, ids: Sequence[str]) -> list[str]:
        return [key_of(self._user_id, id_) for id_ in ids]

    def _subject_keys(self, changes: Iterable[Change]) -> list[str]:
        return [document["_key"] for change in changes for document in subject_documents(self._user_id, change)]
