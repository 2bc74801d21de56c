"""Deleting sources with their chunks, in portions, so that no transaction is long."""

from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..values.documents.corpora import SourceState

_CHUNKS_AT_ONCE = 1_000
_SOURCES_AT_ONCE = 100
DELETED = "the source was deleted"
"""Why a version and its run failed."""


async def delete_sources(record: SystemOfRecord, corpus_id: str, *, owner: str) -> int:
    """Deletes all sources of a corpus; returns the number of their chunks."""
    deleted = 0
    while True:
        async with record.reading(user_id=owner) as unit:
            sources = await unit.sources.page(corpus_id, limit=_SOURCES_AT_ONCE)
        if not sources:
            return deleted
        for source in sources:
            deleted += await delete_source(record, source.source_id, owner=owner)


async def delete_source(record: SystemOfRecord, source_id: str, *, owner: str) -> int:
    """Deletes a source with its versions and chunks; returns the number of chunks.

    Ingestion of the source ends first: it writes nothing for a version that does not wait. The source goes with its
    last chunks and with what the graph has of it, so that a call that was interrupted can be repeated.
    """
    async with record.writing(user_id=owner) as unit:
        for version in await unit.sources.versions(source_id):
            if version.state is SourceState.PENDING:
                failed = {"state": SourceState.FAILED, "error": DELETED}
                await unit.sources.update_version(version.model_copy(update=failed))
        await unit.commit()
    deleted = 0
    while True:
        async with record.writing(user_id=owner) as unit:
            count = await _delete_chunks(unit, source_id)
            if count < _CHUNKS_AT_ONCE:
                await unit.sources.delete(source_id)
                await unit.knowledge_graph.delete_source(source_id)
            await unit.commit()
        deleted += count
        if count < _CHUNKS_AT_ONCE:
            return deleted


async def _delete_chunks(unit: UnitOfWork, source_id: str) -> int:
    return await unit.knowledge.delete(await unit.knowledge.ids(source_id, limit=_CHUNKS_AT_ONCE))
