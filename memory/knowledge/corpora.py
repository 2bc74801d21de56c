"""Creating, configuring and deleting corpora (004 §2, §4, §11.1)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..values.access.identity import app_owner
from ..values.base import utc_now
from ..values.documents.corpora import ConfigVersion, Corpus, CorpusConfig
from ..values.errors import Conflict, CorpusNotFound, InvalidField, KnowledgeNotFound, VersionConflict
from ..values.ids import corpus_id as id_of_corpus
from .deleting import delete_sources
from .metadata import check_schema


@dataclass(frozen=True)
class CorpusChange:
    """What to change of a corpus: None leaves a part as it is.

    Args:
        config: Fields of `CorpusConfig` to change, and of its sections; the others stay.
        expected_version: The version of the corpus that the caller knows; None for any.
    """

    description: str | None = None
    config: Mapping[str, Any] | None = None
    expected_version: int | None = None


class Corpora:
    """The corpora of all apps, each call for one.

    Args:
        record: Stores them.
        now: The clock.
    """

    def __init__(self, record: SystemOfRecord, *, now: Callable[[], datetime] = utc_now) -> None:
        self._record = record
        self._now = now

    async def create(self, name: str, *, app: str, description: str = "", config: CorpusConfig | None = None) -> Corpus:
        """Creates a corpus.

        Raises:
            Conflict: The app has a corpus of this name.
            InvalidField: The schema of its metadata is none.
        """
        config = config or CorpusConfig()
        if config.metadata_schema is not None:
            check_schema(config.metadata_schema)
        now, owner = self._now(), app_owner(app)
        corpus = Corpus(
            app=app,
            corpus_id=id_of_corpus(owner, name),
            name=name,
            description=description,
            config=config,
            created_at=now,
            updated_at=now,
        )
        async with self._record.writing(user_id=owner) as unit:
            if not await unit.corpora.create(corpus):
                raise Conflict(f"The app has a corpus of the name {name!r} already.")
            await unit.corpora.add_version(_version_of(corpus))
            await unit.commit()
        return corpus

    async def list(self, *, app: str) -> list[Corpus]:
        """The corpora of an app in the order of their names."""
        async with self._record.reading(user_id=app_owner(app)) as unit:
            return await unit.corpora.list()

    async def get(self, corpus_id: str, *, app: str) -> Corpus:
        """One corpus.

        Raises:
            CorpusNotFound: The app has none of this id.
        """
        async with self._record.reading(user_id=app_owner(app)) as unit:
            return await get_corpus(unit, corpus_id)

    async def versions(self, corpus_id: str, *, app: str) -> Sequence[ConfigVersion]:
        """The versions of a corpus' configuration, latest first.

        Raises:
            CorpusNotFound: The app has no such corpus.
        """
        async with self._record.reading(user_id=app_owner(app)) as unit:
            await get_corpus(unit, corpus_id)
            return await unit.corpora.versions(corpus_id)

    async def change(self, corpus_id: str, change: CorpusChange, *, app: str) -> Corpus:
        """Changes a corpus; a changed configuration is a new version of it, which later ingestion goes by.

        Raises:
            CorpusNotFound: The app has no such corpus.
            VersionConflict: It has another version than is expected.
            InvalidField: A part of the configuration is not valid.
        """
        async with self._record.writing(user_id=app_owner(app)) as unit:
            corpus = await get_corpus(unit, corpus_id)
            _require_version(corpus, change.expected_version)
            config = corpus.config if change.config is None else changed_config(corpus.config, change.config)
            description = corpus.description if change.description is None else change.description
            return await self._save(unit, corpus, config, description=description)

    async def roll_back(self, corpus_id: str, version: int, *, app: str, expected_version: int | None = None) -> Corpus:
        """Takes a former configuration again, as a new version.

        Raises:
            CorpusNotFound: The app has no such corpus.
            KnowledgeNotFound: Its configuration has no such version.
            VersionConflict: The corpus has another version than is expected.
        """
        async with self._record.writing(user_id=app_owner(app)) as unit:
            corpus = await get_corpus(unit, corpus_id)
            _require_version(corpus, expected_version)
            versions = {each.version: each for each in await unit.corpora.versions(corpus_id)}
            if version not in versions:
                raise KnowledgeNotFound(f"The configuration of the corpus has no version {version}.")
            former = versions[version]
            return await self._save(unit, corpus, former.config, description=corpus.description, restored=version)

    async def delete(self, corpus_id: str, *, app: str) -> int:
        """Deletes a corpus with its sources, chunks and graph; returns the number of chunks.

        In portions, each of which stays deleted: a call that was interrupted is repeated.

        Raises:
            CorpusNotFound: The app has no such corpus.
        """
        await self.get(corpus_id, app=app)
        owner, deleted = app_owner(app), 0
        while True:
            deleted += await delete_sources(self._record, corpus_id, owner=owner)
            async with self._record.writing(user_id=owner) as unit:
                if await unit.sources.page(corpus_id, limit=1):
                    continue  # one was added meanwhile
                await unit.knowledge_graph.delete_corpus(corpus_id)
                await unit.corpora.delete(corpus_id)
                await unit.commit()
            return deleted

    async def _save(
        self,
        unit: UnitOfWork,
        corpus: Corpus,
        config: CorpusConfig,
        *,
        description: str,
        restored: int | None = None,
    ) -> Corpus:
        is_new = config != corpus.config
        if not is_new and description == corpus.description:
            return corpus
        changed = corpus.model_copy(
            update={
                "description": description,
                "config": config,
                "config_version": corpus.config_version + is_new,
                "version": corpus.version + 1,
                "updated_at": self._now(),
            }
        )
        await unit.corpora.update(changed)
        if is_new:
            await unit.corpora.add_version(_version_of(changed, restored=restored))
        await unit.commit()
        return changed


async def get_corpus(unit: UnitOfWork, corpus_id: str) -> Corpus:
    """A corpus of the app of this unit of work.

    Raises:
        CorpusNotFound: The app has none of this id.
    """
    found = await unit.corpora.get([corpus_id])
    if not found:
        raise CorpusNotFound(f"There is no corpus {corpus_id!r}.")
    return found[0]


def changed_config(config: CorpusConfig, changes: Mapping[str, Any]) -> CorpusConfig:
    """A configuration with these fields changed, those of a section one by one.

    Raises:
        InvalidField: A field is unknown or has a value that is not allowed.
    """
    merged = config.model_dump()
    for name, change in changes.items():
        section = merged.get(name)
        merged[name] = {**section, **change} if name in _SECTIONS and isinstance(section, dict) else change
    chunking = changes.get("chunking")
    if chunking and "chunk_size" in chunking and "overlap" not in chunking:
        del merged["chunking"]["overlap"]  # by default a share of the size
    try:
        changed = CorpusConfig.model_validate(merged)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(["config", *(str(part) for part in first["loc"])])
        raise InvalidField(f"{field}: {first['msg']}", field=field, allowed=str(first["msg"])) from None
    if changed.metadata_schema is not None:
        check_schema(changed.metadata_schema)
    return changed


_SECTIONS = frozenset({"chunking", "search"})


def _require_version(corpus: Corpus, expected: int | None) -> None:
    if expected is not None and expected != corpus.version:
        raise VersionConflict(f"The corpus has version {corpus.version}, and not {expected}.")


def _version_of(corpus: Corpus, *, restored: int | None = None) -> ConfigVersion:
    return ConfigVersion(
        app=corpus.app,
        corpus_id=corpus.corpus_id,
        version=corpus.config_version,
        config=corpus.config,
        restored=restored,
        created_at=corpus.updated_at,
    )
