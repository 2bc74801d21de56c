"""Compares the vector index with the record that it is a projection of, and makes it agree (DESIGN §7).

All of it can be stopped at any point and done again: what is to change goes over the outbox, and nothing here is
counted as done that is not.
"""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

from more_itertools import chunked

from ..learning.learner import Learner
from ..ports.generations import BulkEmbedder, Selection, VectorSpace
from ..ports.maintenance import CollectionReport, IndexReport
from ..ports.record import SystemOfRecord
from ..ports.vectors import Collection, VectorIndex
from .bulk_passes import whole_pass
from .projection import Projection
from .sources import ITEMS_A_PAGE, all_users, count_items, project_all, project_items, project_page, waiting


class IndexKeeper:
    """Verifies, mends and rebuilds the index, user by user.

    Args:
        record: What is right.
        space: What is compared with it: the indexes of one generation.
        learner: The one that projects: while it holds a user, that user's part of the index does not move.
        retry_s: How long a rebuild waits before it goes on after it was broken off.
    """

    def __init__(self, *, record: SystemOfRecord, space: VectorSpace, learner: Learner, retry_s: float = 2.0) -> None:
        self._record = record
        self._space = space
        self._learner = learner
        self._retry_s = retry_s

    async def total(self) -> int:
        """How many items there are to look at."""
        return await count_items(self._record)

    def verify(self, *, mend: bool) -> AsyncIterator[IndexReport]:
        """Compares everything; yields what was found so far.

        Args:
            mend: Also make points of what is missing or stale, and take out what is orphaned.

        Raises:
            Unavailable: A store is down; with `mend`, also the encoder.
        """
        return self._walk(_Tally(), mend=mend)

    async def rebuild(self, embedder: BulkEmbedder) -> AsyncIterator[IndexReport]:
        """Makes every point of the index again, vectors included; yields how far it is.

        Points are replaced where they are, so that at no time anything is missing from what can be found, and nobody's
        news wait. Mending then makes what the embedder did not meet, and takes out what is orphaned.

        Args:
            embedder: Embeds in bulk, with the model of each collection.

        Raises:
            Unavailable: A store, a model or a worker is gone, and was so when it was tried again.
        """
        tally = _Tally()
        for part, collections in self._space.parts():
            selection = Selection(collections=collections)
            steps = whole_pass(embedder, self._learner, part, selection, retry_s=self._retry_s)
            async with aclosing(steps):
                async for step in steps:
                    tally.embedded += step.embedded
                    for collection, written in step.written.items():
                        tally.add(collection, mended=written)
                    yield tally.report()
        async for report in self._walk(tally, mend=True):
            yield report

    async def _walk(self, tally: "_Tally", *, mend: bool) -> AsyncIterator[IndexReport]:
        """Goes through everybody's collections, then through the points of those whom the record does not know."""
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
        """Compares one user's part of a collection; yields now and then.

        What differs at first sight may only have moved meanwhile, so it is looked at again while it cannot.
        """
        stored = await self._stored(user_id, collection)
        suspects: list[str] = []
        async for page in project_all(self._record, user_id, collection):
            tally.add(collection, checked=len(page))
            suspects += [
                id_ for id_, item in page.items() if stored.pop(id_, None) != self._fingerprint(collection, item)
            ]
            yield
        suspects += stored
        if suspects:
            pending = await waiting(self._record, user_id, collection)
            tally.add(collection, pending=len(pending.intersection(suspects)))
            suspects = [id_ for id_ in suspects if id_ not in pending]
        for ids in chunked(suspects, ITEMS_A_PAGE):
            wrong = await self._judge(user_id, collection, ids, tally)
            if mend and wrong:
                await self._learner.project_anew(collection, wrong, user_id=user_id)
                tally.add(collection, mended=len(wrong))
            yield

    async def _judge(self, user_id: str, collection: Collection, ids: Sequence[str], tally: "_Tally") -> list[str]:
        """Counts what is wrong among these items, and names it."""
        async with self._learner.holding(user_id):
            async with self._record.reading(user_id=user_id) as unit:
                wanted = await project_items(unit, collection, ids)
            points = await self._index(collection).get(collection, ids, user_id=user_id)
            found = {point.point_id: point.fingerprint for point in points}
            differing = [id_ for id_ in ids if self._fingerprint(collection, wanted.get(id_)) != found.get(id_)]
            pending = await waiting(self._record, user_id, collection) if differing else set()
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
        """Deals with points of somebody whom the record did not know when the users were listed."""
        async with self._learner.holding(user_id):
            if await self._has_items(user_id):
                return  # came in the meantime
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
        """Everybody who has points, listed before those whom the record knows: a new user is in the latter alone."""
        return {user_id for collection in Collection for user_id in await self._index(collection).users(collection)}

    async def _stored(self, user_id: str, collection: Collection) -> dict[str, str]:
        points = await self._index(collection).stored(collection, user_id=user_id)
        return {point.point_id: point.fingerprint for point in points}

    def _index(self, collection: Collection) -> VectorIndex:
        return self._space.part(collection).index

    def _fingerprint(self, collection: Collection, item: Projection | None) -> str | None:
        return item.fingerprint(self._space.part(collection).encoder.model_id) if item else None


class _Tally:
    """Counts while it goes.

    `embedded` are the items that were embedded before they are compared: they count as looked at, once.
    """

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
