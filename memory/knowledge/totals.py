"""How much knowledge there is, for the dashboard (004 §6.2)."""

from ..ports.stores.record import SystemOfRecord
from ..values.access.identity import app_owner
from ..values.base import Value


class KnowledgeTotals(Value):
    """The numbers of corpora and of chunks, those of versions that are not found included."""

    corpora: int
    chunks: int


async def count_knowledge(record: SystemOfRecord, *, app: str | None) -> KnowledgeTotals:
    """The knowledge of this app; of all apps for None.

    Raises:
        StoreUnavailable: The record is away.
    """
    if app is None:
        counts = await record.backlog.counts()
        return KnowledgeTotals(corpora=counts["corpora"], chunks=counts["knowledge"])
    async with record.reading(user_id=app_owner(app)) as unit:
        corpora = await unit.corpora.list()
        chunks = sum([await unit.knowledge.count(corpus.corpus_id) for corpus in corpora])
    return KnowledgeTotals(corpora=len(corpora), chunks=chunks)
