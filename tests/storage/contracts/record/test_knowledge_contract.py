"""What every system of record does with corpora, sources and chunks (`memory.ports.stores.corpora`)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memory.ports.stores.record import SystemOfRecord
from memory.ports.stores.vectors import Collection
from memory.values.access.identity import app_owner
from memory.values.documents.corpora import (
    ConfigVersion,
    Corpus,
    CorpusConfig,
    Knowledge,
    Source,
    SourceState,
    SourceVersion,
)
from memory.values.documents.knowledge import BlockKind, ChunkingConfig
from memory.values.errors import CorpusNotFound, InvalidField, KnowledgeNotFound

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SHOP, CLINIC = app_owner("shop"), app_owner("clinic")


def corpus(name: str, *, app: str = "shop", **fields: Any) -> Corpus:
    fields = dict[str, Any](corpus_id=f"id of {name}", created_at=NOON, updated_at=NOON) | fields
    return Corpus(app=app, name=name, **fields)


def source(name: str, *, corpus_id: str = "c", **fields: Any) -> Source:
    fields = dict[str, Any](source_uri=f"file:{name}", created_at=NOON, updated_at=NOON) | fields
    return Source(app="shop", source_id=name, corpus_id=corpus_id, **fields)


def version(number: int, *, source_id: str = "s", **fields: Any) -> SourceVersion:
    defaults: dict[str, Any] = {
        "corpus_id": "c",
        "source_uri": "file:s",
        "content_hash": "00",
        "media_type": "text/plain",
        "chunking": ChunkingConfig(),
        "config_version": 1,
        "run_id": "r",
        "created_at": NOON,
        "queued_at": NOON,
    }
    return SourceVersion(app="shop", source_id=source_id, version=number, **defaults | fields)


def chunk(name: str, index: int, **fields: Any) -> Knowledge:
    defaults: dict[str, Any] = {
        "corpus_id": "c",
        "source_id": "s",
        "source_uri": "file:s",
        "version": 1,
        "content": "保固期為兩年。\n二年です",
        "created_at": NOON,
    }
    return Knowledge(app="shop", knowledge_id=name, chunk_index=index, **defaults | fields)


class TestCorpora:
    async def test_corpora_come_back_as_they_were_in_the_order_of_their_names(self, record: SystemOfRecord) -> None:
        config = CorpusConfig.model_validate({"metadata_schema": {"type": "object"}, "search": {"mode": "rrf"}})
        manuals, faq = corpus("手冊", description="操作手冊", config=config), corpus("FAQ")
        async with record.writing(user_id=SHOP) as unit:
            assert await unit.corpora.create(manuals)
            assert await unit.corpora.create(faq)
            await unit.commit()
        async with record.reading(user_id=SHOP) as unit:
            assert await unit.corpora.list() == [faq, manuals]
            assert await unit.corpora.get(["unknown", manuals.corpus_id]) == [manuals]

    @pytest.mark.parametrize("fields", [{"corpus_id": "another"}, {"name": "another", "corpus_id": "id of FAQ"}])
    async def test_a_name_and_an_id_are_given_once_in_an_app(
        self, record: SystemOfRecord, fields: dict[str, str]
    ) -> None:
        second = corpus("FAQ").model_copy(update=fields)
        async with record.writing(user_id=SHOP) as unit:
            assert await unit.corpora.create(corpus("FAQ"))
            assert not await unit.corpora.create(second)
            await unit.commit()
        async with record.writing(user_id=CLINIC) as unit:
            assert await unit.corpora.create(corpus("FAQ", app="clinic"))
            await unit.commit()
        async with record.reading(user_id=SHOP) as unit:
            assert await unit.corpora.list() == [corpus("FAQ")]

    async def test_a_change_replaces_a_corpus_and_needs_one(self, record: SystemOfRecord) -> None:
        async with record.writing(user_id=SHOP) as unit:
            await unit.corpora.create(corpus("FAQ"))
            changed = corpus("FAQ", description="new", version=2)
            await unit.corpora.update(changed)
            assert await unit.corpora.list() == [changed]
            with pytest.raises(CorpusNotFound):
                await unit.corpora.update(corpus("another"))

    async def test_another_app_sees_nothing_and_may_write_nothing(self, record: SystemOfRecord) -> None:
        async with record.writing(user_id=SHOP) as unit:
            await unit.corpora.create(corpus("FAQ"))
            await unit.sources.save(source("s"))
            await unit.sources.add_version(version(1), b"x")
            await unit.knowledge.save([chunk("k", 0)])
            await unit.commit()
        async with record.writing(user_id=CLINIC) as unit:
            assert not await unit.corpora.get(["id of FAQ"])
            assert not await unit.sources.get(["s"])
            assert await unit.sources.content("s", 1) is None
            assert not await unit.knowledge.get(["k"])
            assert await unit.knowledge.delete(["k"]) == 0
            assert not await unit.corpora.delete("id of FAQ")
            with pytest.raises(InvalidField):
                await unit.corpora.create(corpus("FAQ"))
            with pytest.raises(InvalidField):
                await unit.knowledge.save([chunk("k", 0)])

    async def test_versions_of_a_configuration_go_with_their_corpus(self, record: SystemOfRecord) -> None:
        first, second = (
            ConfigVersion(app="shop", corpus_id="id of FAQ", version=number, config=CorpusConfig(), created_at=NOON)
            for number in (1, 2)
        )
        async with record.writing(user_id=SHOP) as unit:
            await unit.corpora.create(corpus("FAQ"))
            await unit.corpora.add_version(first)
            await unit.corpora.add_version(second)
            await unit.corpora.add_version(second.model_copy(update={"restored": 1}))
            assert await unit.corpora.versions("id of FAQ") == [second, first]
            assert await unit.corpora.delete("id of FAQ")
            assert not await unit.corpora.delete("id of FAQ")
            assert await unit.corpora.versions("id of FAQ") == []


class TestSources:
    async def test_sources_of_a_corpus_come_in_pages(self, record: SystemOfRecord) -> None:
        sources = [source(name, metadata={"year": 2026}, building=1) for name in "abc"]
        async with record.writing(user_id=SHOP) as unit:
            for each in (*sources, source("d", corpus_id="other")):
                await unit.sources.save(each)
            assert list(await unit.sources.page("c", limit=2)) == sources[:2]
            assert list(await unit.sources.page("c", after="b", limit=2)) == sources[2:]
            assert list(await unit.sources.get(["c", "x", "a"])) == [sources[2], sources[0]]

    async def test_a_version_keeps_its_content_and_goes_with_its_source(self, record: SystemOfRecord) -> None:
        content = bytes(range(256))
        done = version(1, state=SourceState.READY, chunk_count=2, ended_at=NOON)
        async with record.writing(user_id=SHOP) as unit:
            await unit.sources.save(source("s"))
            await unit.sources.add_version(version(1), content)
            await unit.sources.add_version(version(1, title="again"), b"other")
            await unit.sources.add_version(version(2), b"second")
            assert await unit.sources.content("s", 1) == content
            await unit.sources.update_version(done)
            assert await unit.sources.content("s", 1) == content
            assert list(await unit.sources.versions("s")) == [version(2), done]
            with pytest.raises(KnowledgeNotFound):
                await unit.sources.update_version(version(3))
            assert await unit.sources.delete("s")
            assert not await unit.sources.delete("s")
            assert list(await unit.sources.versions("s")) == []
            assert await unit.sources.content("s", 1) is None

    async def test_what_is_pending_comes_oldest_first(self, record: SystemOfRecord) -> None:
        late = version(1, source_id="a", queued_at=NOON + timedelta(seconds=1))
        failed = version(3, source_id="b", state=SourceState.FAILED, error="not readable")
        other = version(1, source_id="z").model_copy(update={"app": "clinic"})
        async with record.writing(user_id=SHOP) as unit:
            for each in (late, version(1), failed):
                await unit.sources.add_version(each, b"")
            await unit.commit()
        async with record.writing(user_id=CLINIC) as unit:
            await unit.sources.add_version(other, b"")
            await unit.commit()
        assert await record.backlog.pending_sources(limit=9) == [version(1), other, late]
        assert await record.backlog.pending_sources(limit=1) == [version(1)]


class TestKnowledge:
    async def test_chunks_are_added_once_and_wait_for_the_index(self, record: SystemOfRecord) -> None:
        chunks = [chunk("b", 0, page=3, headings=("第三章", "保固"), kind=BlockKind.TABLE), chunk("a", 1, repeated=4)]
        async with record.writing(user_id=SHOP) as unit:
            assert await unit.knowledge.save(chunks) == 2
            assert await unit.knowledge.save([chunk("a", 9), chunk("c", 0, version=2, corpus_id="d")]) == 1
            assert list(await unit.knowledge.get(["b", "x", "a"])) == chunks
            assert [each.knowledge_id for each in await unit.knowledge.page(after="a", limit=9)] == ["b", "c"]
            assert list(await unit.knowledge.ids("s")) == ["b", "a", "c"]
            assert list(await unit.knowledge.ids("s", version=1, limit=1)) == ["b"]
            assert await unit.knowledge.count("c") == 2
            await unit.commit()
        waiting = await record.backlog.outbox(limit=9, user_id=SHOP)
        assert {(entry.collection, entry.item_id) for entry in waiting} == {
            (Collection.KNOWLEDGE, id_) for id_ in "abc"
        }
        counts = await record.backlog.counts()
        assert (counts["knowledge"], counts["users"]) == (3, 0)
        assert await record.backlog.users(limit=9) == [SHOP]

    async def test_deleted_and_requeued_chunks_wait_for_the_index_again(self, record: SystemOfRecord) -> None:
        async with record.writing(user_id=SHOP) as unit:
            await unit.knowledge.save([chunk(name, index) for index, name in enumerate("abc")])
            await unit.commit()
        await record.backlog.acknowledge(await record.backlog.outbox(limit=9))
        async with record.writing(user_id=SHOP) as unit:
            assert await unit.knowledge.delete(["a", "x"]) == 1
            await unit.knowledge.requeue(["b"])
            await unit.commit()
        assert {entry.item_id for entry in await record.backlog.outbox(limit=9)} == {"a", "b"}
        async with record.reading(user_id=SHOP) as unit:
            assert list(await unit.knowledge.ids("s")) == ["b", "c"]

    async def test_erasing_the_owner_leaves_nothing(self, record: SystemOfRecord) -> None:
        async with record.writing(user_id=SHOP) as unit:
            await unit.corpora.create(corpus("FAQ"))
            await unit.sources.save(source("s"))
            await unit.sources.add_version(version(1), b"x")
            await unit.knowledge.save([chunk("k", 0)])
            await unit.commit()
        await record.erase_user(SHOP)
        assert await record.backlog.users(limit=9) == []
        assert await record.backlog.outbox(limit=9) == []
        async with record.reading(user_id=SHOP) as unit:
            assert await unit.sources.content("s", 1) is None
