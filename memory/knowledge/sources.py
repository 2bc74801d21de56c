"""Taking documents into a corpus: what changed waits for ingestion, what did not is skipped (004 §5.1)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256

from pydantic import JsonValue

from ..jobs.runs import new_run
from ..ports.jobs import PipelineRun
from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..values.access.identity import app_owner
from ..values.base import Scalar, utc_now
from ..values.documents.corpora import Corpus, Source, SourceState, SourceVersion
from ..values.errors import KnowledgeNotFound, VersionConflict
from ..values.ids import new_id
from ..values.ids import source_id as id_of_source
from .corpora import get_corpus
from .deleting import delete_source
from .metadata import check_metadata

PLAIN_TEXT = "text/plain"
PIPELINE = "knowledge_ingestion"


@dataclass(frozen=True)
class NewDocument:
    """A document to take in.

    Args:
        content: A file as it is, or a text in UTF-8.
        media_type: As it was declared.
        name: The file's name; empty for a text.
        source_uri: What identifies it in its corpus; by default the name, else a digest of the content.
    """

    content: bytes
    media_type: str = PLAIN_TEXT
    name: str = ""
    source_uri: str = ""
    metadata: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True)
class Submitted:
    """A version that waits for ingestion, or the one that is there already where `skipped`."""

    version: SourceVersion
    skipped: bool = False


class Sources:
    """The sources of all apps' corpora, each call for one app.

    Args:
        record: Stores them.
        now: The clock.
    """

    def __init__(self, record: SystemOfRecord, *, now: Callable[[], datetime] = utc_now) -> None:
        self._record = record
        self._now = now

    async def submit(self, corpus_id: str, documents: Sequence[NewDocument], *, app: str) -> list[Submitted]:
        """Keeps documents for ingestion, in one transaction; they are safe and their runs are known when it returns.

        A document that is as its source's current version is skipped, one that waits already is not queued again, and
        one that failed is tried again. The chunking of the corpus is a part of what is compared.

        Raises:
            CorpusNotFound: The app has no such corpus.
            InvalidMetadata: The corpus does not allow the metadata; nothing is kept.
        """
        owner = app_owner(app)
        async with self._record.writing(user_id=owner) as unit:
            corpus = await get_corpus(unit, corpus_id)
            for document in documents:
                check_metadata(document.metadata, corpus.config.metadata_schema)
            submitted = [await self._submit_one(unit, corpus, document) for document in documents]
            await unit.commit()
        waiting = [each.version for each in submitted if each.version.state is SourceState.PENDING]
        if waiting:
            await self._record.runs.add([run_of(version) for version in waiting])
        return submitted

    async def page(self, corpus_id: str, *, app: str, after: str | None = None, limit: int) -> list[Source]:
        """Sources of a corpus in the order of their ids, from the first id greater than `after`.

        Raises:
            CorpusNotFound: The app has no such corpus.
        """
        async with self._record.reading(user_id=app_owner(app)) as unit:
            await get_corpus(unit, corpus_id)
            return [*await unit.sources.page(corpus_id, after=after, limit=limit)]

    async def versions(self, corpus_id: str, source_id: str, *, app: str) -> list[SourceVersion]:
        """The versions of a source, latest first.

        Raises:
            CorpusNotFound: The app has no such corpus.
            KnowledgeNotFound: The corpus has no such source.
        """
        async with self._record.reading(user_id=app_owner(app)) as unit:
            await get_source(unit, corpus_id, source_id)
            return [*await unit.sources.versions(source_id)]

    async def delete(self, corpus_id: str, source_id: str, *, app: str) -> int:
        """Deletes a source with its versions and chunks; returns the number of chunks.

        Raises:
            CorpusNotFound: The app has no such corpus.
            KnowledgeNotFound: The corpus has no such source.
        """
        owner = app_owner(app)
        async with self._record.reading(user_id=owner) as unit:
            await get_source(unit, corpus_id, source_id)
        return await delete_source(self._record, source_id, owner=owner)

    async def roll_back(
        self, corpus_id: str, source_id: str, version: int, *, app: str, expected_version: int | None = None
    ) -> SourceVersion:
        """Queues a former version of a source, which is found instead of the current one when it is indexed again.

        Raises:
            CorpusNotFound: The app has no such corpus.
            KnowledgeNotFound: The corpus has no such source, or that no such version which was ready.
            VersionConflict: The source is at another version than is expected.
        """
        async with self._record.writing(user_id=app_owner(app)) as unit:
            source = await get_source(unit, corpus_id, source_id)
            if expected_version is not None and expected_version != source.version:
                raise VersionConflict(f"The source is at version {source.version}, and not {expected_version}.")
            versions = {each.version: each for each in await unit.sources.versions(source_id)}
            former = versions.get(version)
            if former is None or former.state is SourceState.FAILED:
                raise KnowledgeNotFound(f"The source has no version {version} to go back to.")
            if version == source.version or former.state is SourceState.PENDING:
                return former
            queued = queued_again(former, at=self._now())
            await unit.sources.update_version(queued)
            await unit.commit()
        await self._record.runs.add([run_of(queued)])
        return queued

    async def _submit_one(self, unit: UnitOfWork, corpus: Corpus, document: NewDocument) -> Submitted:
        digest = sha256(document.content).hexdigest()
        uri = document.source_uri or document.name or f"sha256:{digest}"
        source_id, now = id_of_source(corpus.user_id, corpus.corpus_id, uri), self._now()
        known = [*await unit.sources.versions(source_id)]
        new = SourceVersion(
            app=corpus.app,
            source_id=source_id,
            corpus_id=corpus.corpus_id,
            source_uri=uri,
            version=1 + max((version.version for version in known), default=0),
            content_hash=digest,
            media_type=document.media_type,
            name=document.name,
            metadata=dict(document.metadata),
            chunking=corpus.config.chunking,
            config_version=corpus.config_version,
            size_bytes=len(document.content),
            run_id=new_id(),
            created_at=now,
            queued_at=now,
        )
        sources = await unit.sources.get([source_id])
        current = sources[0].version if sources else 0
        last = known[0] if known else None
        if last is not None and last.is_same(new):
            match last.state:
                case SourceState.PENDING:
                    return Submitted(last)
                case SourceState.READY if last.version == current:
                    return Submitted(last, skipped=True)
                case SourceState.FAILED:
                    again = queued_again(last, at=now)
                    await unit.sources.update_version(again)
                    return Submitted(again)
        waits = last is not None and last.state is SourceState.PENDING
        same = next((version for version in known if version.version == current and version.is_same(new)), None)
        if same is not None and not waits:
            return Submitted(same, skipped=True)
        if not sources:
            source = Source(
                app=corpus.app,
                source_id=source_id,
                corpus_id=corpus.corpus_id,
                source_uri=uri,
                created_at=now,
                updated_at=now,
            )
            await unit.sources.save(source)
        await unit.sources.add_version(new, document.content)
        return Submitted(new)


def run_of(version: SourceVersion, *, retry_of: str | None = None) -> PipelineRun:
    """The run of a version that waits for ingestion; `retry_of` is the run that this one repeats."""
    given: dict[str, JsonValue] = {
        "corpus_id": version.corpus_id,
        "source_id": version.source_id,
        "source_uri": version.source_uri,
        "version": version.version,
        "config_version": version.config_version,
    }
    run = new_run(PIPELINE, given, at=version.queued_at, app=version.app, queued=True, retry_of=retry_of)
    return run.model_copy(update={"run_id": version.run_id})


def queued_again(version: SourceVersion, *, at: datetime) -> SourceVersion:
    """The version as it waits again, for a new run."""
    again = {"state": SourceState.PENDING, "error": None, "ended_at": None}
    return version.model_copy(update={**again, "run_id": new_id(), "queued_at": at})


async def get_source(unit: UnitOfWork, corpus_id: str, source_id: str) -> Source:
    """A source of a corpus.

    Raises:
        CorpusNotFound: The app has no such corpus.
        KnowledgeNotFound: The corpus has no such source.
    """
    await get_corpus(unit, corpus_id)
    found = await unit.sources.get([source_id])
    if not found or found[0].corpus_id != corpus_id:
        raise KnowledgeNotFound(f"The corpus has no source {source_id!r}.")
    return found[0]
