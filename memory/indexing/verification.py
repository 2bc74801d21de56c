"""Compares the vector index with the record and repairs it (DESIGN §7, §8).

Every operation can be stopped at any point and repeated: repairs go through the outbox.
"""

import random
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from more_itertools import chunked

from ..ports.jobs import CollectionReport, IndexReport
from ..ports.models.language import Priority, TextKind
from ..ports.stores.generations import BulkEmbedder, Selection, VectorSpace
from ..ports.stores.record import SystemOfRecord
from ..ports.stores.vectors import Collection, IndexQuery, VectorIndex
from .bulk_passes import retried_pass
from .indexer import Indexer
from .projection import Projection, has_same_vector
from .record_pages import (
    ITEMS_A_PAGE,
    all_users,
    count_items,
    project_items,
    project_page,
    projected_pages,
    waiting_ids,
    walk,
)

SAMPLE_SIZE = 64
"""Items that are searched for; one is enough to detect swapped or corrupt vectors."""
_VERIFICATION_ROUNDS = 3
_SAME_VECTOR = 0.99
"""Least cosine of two vectors of one text by one model, whatever the batches."""
_FIRST_HITS = 10
_FOUND_SHARE = 0.95
"""Least share of the sample that must be found: many items may have nearly the same text."""


class IndexVerifier:
    """Verifies, mends and rebuilds the index, user by user.

    Args:
        record: What is right.
        space: What is compared with it: the indexes of one generation.
        indexer: Writes to the index: while its lock of a user is held, that user's part of the index does not move.
        retry_s: Seconds until an interrupted rebuild continues.
    """

    def __init__(self, *, record: SystemOfRecord, space: VectorSpace, indexer: Indexer, retry_s: float = 2.0) -> None:
        self._record = record
        self._space = space
        self._indexer = indexer
        self._retry_s = retry_s

    async def total(self) -> int:
        """The number of items to compare."""
        return await count_items(self._record)

    def verify(self, *, mend: bool) -> AsyncIterator[IndexReport]:
        """Compares all items; yields the counts so far.

        Args:
            mend: Also write missing and stale points, and delete orphaned ones.

        Raises:
            Unavailable: A store is down; with `mend`, also the encoder.
        """
        return self._walk(_Tally(), mend=mend)

    async def rebuild(self, embedder: BulkEmbedder) -> AsyncIterator[IndexReport]:
        """Writes every point of the index again, vectors included; yields the counts so far.

        Points are replaced in place, so that the index stays complete and current. Mending then adds what the embedder
        missed, and deletes orphaned points.

        Args:
            embedder: Embeds in bulk, with the model of each collection.

        Raises:
            Unavailable: A store, a model or a worker was down in repeated attempts.
        """
        tally = _Tally()
        for part, collections in self._space.parts():
            selection = Selection(collections=collections)
            batches = retried_pass(embedder, self._indexer, part, selection, retry_s=self._retry_s)
            async with aclosing(batches):
                async for batch in batches:
                    tally.embedded += batch.embedded
                    for collection, written in batch.written.items():
                        tally.add(collection, mended=written)
                    yield tally.report()
        async for report in self._walk(tally, mend=True):
            yield report

    async def _walk(self, tally: "_Tally", *, mend: bool) -> AsyncIterator[IndexReport]:
        """Verifies the collections of all users, then the points of users whom the record does not know."""
        unknown = await self._indexed()
        async for user_id in all_users(self._record):
            unknown.discard(user_id)
            tally.users += 1
            for collection in Collection:
                async for _ in self._verify(user_id, collection, tally, mend=mend):
                    yield tally.report()
        for user_id in sorted(unknown):
            await self._clear_unknown(user_id, tally, mend=mend)
            yield tally.report()
        yield tally.report()

    async def _verify(
        self, user_id: str, collection: Collection, tally: "_Tally", *, mend: bool
    ) -> AsyncIterator[None]:
        """Compares one user's part of a collection; yields after each page.

        Items that differ may have changed meanwhile, so they are compared again under the user's lock.
        """
        stored = await self._stored(user_id, collection)
        suspects: list[str] = []
        async for page in projected_pages(self._record, user_id, collection):
            tally.add(collection, checked=len(page))
            suspects += [
                id_ for id_, item in page.items() if stored.pop(id_, None) != self._fingerprint(collection, item)
            ]
            yield
        suspects += stored
        if suspects:
            pending = await waiting_ids(self._record, user_id, collection)
            tally.add(collection, pending=len(pending.intersection(suspects)))
            suspects = [id_ for id_ in suspects if id_ not in pending]
        for ids in chunked(suspects, ITEMS_A_PAGE):
            wrong = await self._find_wrong(user_id, collection, ids, tally)
            if mend and wrong:
                await self._indexer.reindex(collection, wrong, user_id=user_id)
                tally.add(collection, mended=len(wrong))
            yield

    async def _find_wrong(self, user_id: str, collection: Collection, ids: Sequence[str], tally: "_Tally") -> list[str]:
        """Counts the wrong points of these items and returns their ids."""
        async with self._indexer.lock(user_id):
            async with self._record.reading(user_id=user_id) as unit:
                wanted = await project_items(unit, collection, ids)
            points = await self._index(collection).get(collection, ids, user_id=user_id)
            found = {point.point_id: point.fingerprint for point in points}
            differing = [id_ for id_ in ids if self._fingerprint(collection, wanted.get(id_)) != found.get(id_)]
            pending = await waiting_ids(self._record, user_id, collection) if differing else set()
        wrong = [id_ for id_ in differing if id_ not in pending]
        tally.add(
            collection,
            pending=len(differing) - len(wrong),
            missing=sum(id_ not in found for id_ in wrong),
            orphaned=sum(wanted.get(id_) is None for id_ in wrong),
            stale=sum(id_ in found and wanted.get(id_) is not None for id_ in wrong),
        )
        return wrong

    async def _clear_unknown(self, user_id: str, tally: "_Tally", *, mend: bool) -> None:
        """Counts, and with `mend` deletes, the points of a user whom the record does not know."""
        async with self._indexer.lock(user_id):
            if await self._has_items(user_id):
                return  # the user was added meanwhile
            for collection in Collection:
                orphaned = len(await self._stored(user_id, collection))
                tally.add(collection, orphaned=orphaned)
                if mend and orphaned:
                    await self._index(collection).delete_user(collection, user_id=user_id)
                    tally.add(collection, mended=orphaned)

    async def _has_items(self, user_id: str) -> bool:
        async with self._record.reading(user_id=user_id) as unit:
            return any([await project_page(unit, collection, after=None, limit=1) for collection in Collection])

    async def _indexed(self) -> set[str]:
        """All users with points; read before the record's users, so that no new user counts as unknown."""
        return {user_id for collection in Collection for user_id in await self._index(collection).users(collection)}

    async def _stored(self, user_id: str, collection: Collection) -> dict[str, str]:
        points = await self._index(collection).stored(collection, user_id=user_id)
        return {point.point_id: point.fingerprint for point in points}

    def _index(self, collection: Collection) -> VectorIndex:
        return self._space.part(collection).index

    def _fingerprint(self, collection: Collection, item: Projection | None) -> str | None:
        return item.fingerprint(self._space.part(collection).encoder.model_id) if item else None


class _Tally:
    """Counts of an operation; `embedded` items of a rebuild count as checked, but only once."""

    def __init__(self) -> None:
        self.users = 0
        self.embedded: Counter[Collection] = Counter()
        self._counts: dict[Collection, Counter[str]] = {collection: Counter() for collection in Collection}

    def add(self, collection: Collection, **counts: int) -> None:
        """Adds to the counts of a collection."""
        self._counts[collection].update(counts)

    def report(self) -> IndexReport:
        """The counts so far."""
        return IndexReport(
            users=self.users,
            collections={collection: self._report(collection) for collection in Collection},
        )

    def _report(self, collection: Collection) -> CollectionReport:
        counts = self._counts[collection]
        return CollectionReport(**counts | {"checked": max(counts["checked"], self.embedded[collection])})


@dataclass(frozen=True)
class GenerationReport:
    """Whether a new generation agrees with the record and finds its items, so that it may become live (DESIGN §8).

    Attributes:
        checked: Items compared with the record.
        wrong: Missing, stale or orphaned points that mending did not repair.
        sampled: Items that were searched for.
        found: Sampled items whose stored vector is the model's and finds them.
    """

    checked: int
    wrong: int
    sampled: int
    found: int

    @property
    def is_sound(self) -> bool:
        """Whether the search may switch to these vectors."""
        return not self.wrong and self.found >= _FOUND_SHARE * self.sampled

    @property
    def complaint(self) -> str:
        """Why the vectors are not accepted."""
        if self.wrong:
            return f"{self.wrong} of {self.checked} new points do not agree with the record."
        return f"Only {self.found} of {self.sampled} items are found again by their new vectors."

    def figures(self) -> dict[str, int | float]:
        """The counts for the output of the run."""
        return {"checked": self.checked, "wrong": self.wrong, "sampled": self.sampled, "found": self.found}


async def check_generation(record: SystemOfRecord, space: VectorSpace, indexer: Indexer) -> GenerationReport:
    """Compares a generation with the record and mends it, then searches for a sample.

    Raises:
        Unavailable: A store or the encoder is down.
    """
    verifier = IndexVerifier(record=record, space=space, indexer=indexer)
    checked = wrong = 0
    for _ in range(_VERIFICATION_ROUNDS):
        async for report in verifier.verify(mend=True):
            checked, wrong = report.checked, report.wrong
        if not wrong:
            break
    sample = await _sample(record)
    looked_up = [await _is_found(space, *drawn) for drawn in sample]
    answers = [answer for answer in looked_up if answer is not None]
    return GenerationReport(checked, wrong, len(answers), sum(answers))


async def _sample(record: SystemOfRecord) -> Sequence[tuple[str, Collection, Projection]]:
    """A uniform sample of all users' items (Vitter's algorithm R with a fixed seed)."""
    chosen: list[tuple[str, Collection, Projection]] = []
    draw, seen = random.Random(0), 0
    async for page in walk(record):
        for item in page.items:
            seen += 1
            place = len(chosen) if len(chosen) < SAMPLE_SIZE else draw.randrange(seen)
            if place < SAMPLE_SIZE:
                chosen[place : place + 1] = [(page.user_id, page.collection, item)]
    return chosen


async def _is_found(space: VectorSpace, user_id: str, collection: Collection, item: Projection) -> bool | None:
    """Whether the stored vector is the model's for the text, and a search with the text finds the item.

    None for an item that has just changed and is in the outbox.
    """
    space = space.part(collection)
    fingerprint = item.fingerprint(space.encoder.model_id)
    points = await space.index.get(collection, [item.item_id], user_id=user_id)
    if not points or not has_same_vector(points[0].fingerprint, fingerprint):
        return None
    matrix = await space.encoder.encode([item.dense_text], kind=TextKind.PASSAGE, priority=Priority.BATCH)
    if float(points[0].dense @ matrix[0]) < _SAME_VECTOR:
        return False
    [hits] = await space.index.search([IndexQuery(collection, _FIRST_HITS, dense=matrix[0])], user_id=user_id)
    return bool(hits) and (item.item_id in [hit.point_id for hit in hits] or hits[-1].score >= _SAME_VECTOR)
