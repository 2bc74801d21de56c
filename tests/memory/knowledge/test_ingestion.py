"""Ingestion: what changed is indexed once, what did not is skipped, a bad file fails alone, a kill loses nothing."""

import asyncio
from collections.abc import Callable

import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.knowledge.corpora import CorpusChange
from memory.knowledge.sources import NewDocument
from memory.ports.jobs import PipelineRun, RunState
from memory.ports.models.language import Priority
from memory.ports.stores.vectors import PAYLOAD_FIELDS, Collection
from memory.values.documents.corpora import CorpusConfig, SourceState
from memory.values.errors import Conflict, InvalidMetadata, KnowledgeNotFound, ModelUnavailable
from tests.memory.knowledge.library import APP, HEARTBEAT, OWNER, Library, do_nothing

MANUAL = "# 保固\n\n保固期為兩年。\n\n# Delivery\n\nDelivery takes three days.\f電池不在保固範圍內。"


async def test_a_document_is_cut_embedded_and_found_with_page_and_heading() -> None:
    library = Library()
    corpus = await library.create(config=CorpusConfig.model_validate({"chunking": {"chunk_size": 30, "overlap": 0}}))
    version = await library.add(corpus, MANUAL, "file:manual.md", lang="zh")
    assert (version.state, version.version, version.error) == (SourceState.READY, 1, None)
    chunks = sorted((await library.chunks()).values(), key=lambda chunk: chunk.chunk_index)
    assert version.chunk_count == len(chunks)
    assert [chunk.chunk_index for chunk in chunks] == list(range(len(chunks)))
    assert await library.indexed() == {chunk.knowledge_id for chunk in chunks}
    for point in await library.index.get(Collection.KNOWLEDGE, [*await library.chunks()], user_id=OWNER):
        assert point.payload.keys() == PAYLOAD_FIELDS[Collection.KNOWLEDGE].keys()
    assert library.encoder.priorities == {Priority.BATCH}
    [battery] = [chunk for chunk in chunks if "電池" in chunk.content]
    assert (battery.page, battery.headings, battery.metadata) == (2, ("Delivery",), {"lang": "zh"})
    [run] = await library.runs()
    assert (run.run_id, run.state, run.done, run.total) == (version.run_id, RunState.DONE, len(chunks), len(chunks))
    assert run.output["chunks"] == len(chunks)


async def test_what_did_not_change_is_skipped_and_what_did_replaces_it() -> None:
    library = Library()
    corpus = await library.create()
    first = await library.add(corpus, "The warranty lasts two years.")
    read = len(library.encoder.passages)
    again = await library.add(corpus, "The warranty lasts two years.")
    assert (again, len(library.encoder.passages)) == (first, read)
    second = await library.add(corpus, "The warranty lasts three years.")
    assert second.version == 2
    result = await library.search("warranty", corpus)
    assert [hit.content for hit in result.results] == ["The warranty lasts three years."]
    assert len(await library.indexed()) == 1
    third = await library.add(corpus, "The warranty lasts three years.", year=2026)
    assert (third.version, third.metadata) == (3, {"year": 2026})
    await library.corpora.change(corpus.corpus_id, CorpusChange(config={"chunking": {"chunk_size": 25}}), app=APP)
    assert (await library.add(corpus, "The warranty lasts three years.", year=2026)).version == 4


async def test_a_source_goes_back_to_a_version_and_forward_again() -> None:
    library = Library()
    corpus = await library.create()
    first = await library.add(corpus, "The warranty lasts two years.")
    await library.add(corpus, "The warranty lasts three years.")
    for version, words in ((1, "two"), (2, "three")):
        queued = await library.sources.roll_back(corpus.corpus_id, first.source_id, version, app=APP)
        await library.finish(queued)
        result = await library.search("warranty", corpus)
        assert [(hit.version, words in hit.content) for hit in result.results] == [(version, True)]
        assert len(await library.indexed()) == 1
    assert len(await library.chunks()) == 2
    with pytest.raises(KnowledgeNotFound):
        await library.sources.roll_back(corpus.corpus_id, first.source_id, 3, app=APP)


async def test_a_file_that_cannot_be_read_fails_alone_with_its_reason() -> None:
    library = Library()
    corpus = await library.create()
    documents = [
        NewDocument(b"The warranty lasts two years.", name="good.txt"),
        NewDocument(b"\xff\xfe\xfa", name="bad.bin"),
        NewDocument("電池不在保固範圍內。".encode(), name="fine.txt"),
    ]
    submitted = await library.sources.submit(corpus.corpus_id, documents, app=APP)
    versions = [await library.finish(each.version) for each in submitted]
    assert [version.state for version in versions] == [SourceState.READY, SourceState.FAILED, SourceState.READY]
    assert versions[1].error == "UnreadableDocumentError: bad.bin is not UTF-8"
    runs = {run.run_id: run for run in await library.runs()}
    assert (runs[versions[1].run_id].state, runs[versions[1].run_id].error) == (RunState.FAILED, versions[1].error)


async def test_a_failed_update_leaves_the_version_before_in_place() -> None:
    library = Library()
    corpus = await library.create()
    await library.add(corpus, "The warranty lasts two years.")
    assert (await library.add(corpus, b"\xff")).state is SourceState.FAILED
    [hit] = (await library.search("warranty", corpus)).results
    assert hit.version == 1


async def test_metadata_must_fit_the_schema_of_the_corpus_and_nothing_is_kept_otherwise() -> None:
    library = Library()
    schema = {"properties": {"year": {"type": "integer", "minimum": 2000}}, "required": ["year"]}
    corpus = await library.create(config=CorpusConfig.model_validate({"metadata_schema": schema}))
    documents = [
        NewDocument(b"a", source_uri="file:a", metadata={"year": 2026}),
        NewDocument(b"b", source_uri="file:b", metadata={"year": 1999}),
    ]
    with pytest.raises(InvalidMetadata) as refused:
        await library.sources.submit(corpus.corpus_id, documents, app=APP)
    assert refused.value.field == "metadata.year"
    assert await library.sources.page(corpus.corpus_id, app=APP, limit=9) == []
    with pytest.raises(InvalidMetadata):
        await library.sources.submit(corpus.corpus_id, [NewDocument(b"c")], app=APP)


async def test_embedding_that_fails_for_good_fails_the_version_and_a_repetition_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("memory.indexing.retrying._FIRST_PAUSE_S", 0.0)
    library = Library()
    corpus = await library.create()
    calls = 0

    async def away() -> None:
        nonlocal calls
        calls += 1
        raise ModelUnavailable("the engine is gone", component="embedder")

    library.encoder.before = away
    failed = await library.add(corpus, "The warranty lasts two years.")
    assert (failed.state, calls) == (SourceState.FAILED, 4)
    assert failed.error is not None
    assert failed.error.startswith("EmbeddingFailed: ")
    assert "4 attempts: the engine is gone" in failed.error
    library.encoder.before = do_nothing
    again = await library.add(corpus, "The warranty lasts two years.")
    assert (again.version, again.state) == (1, SourceState.READY)
    assert len(await library.chunks()) == 1


@settings(max_examples=25, deadline=None)
@given(killed_after=st.integers(0, 12), sentences=st.integers(1, 120))
def test_a_killed_ingestion_goes_on_where_it_stopped_with_nothing_twice(killed_after: int, sentences: int) -> None:
    asyncio.run(_kill_and_continue(killed_after, sentences))


async def _kill_and_continue(killed_after: int, sentences: int) -> None:
    text = "\n\n".join(f"Rule {number}: keep the door {number} shut." for number in range(sentences))
    library, calls = Library(), 0
    corpus = await library.create()
    [submitted] = await library.sources.submit(corpus.corpus_id, [NewDocument(text.encode())], app=APP)
    ingestion = library.open_ingestion()
    ingestion.begin()
    stopped = asyncio.Event()

    async def kill() -> None:
        nonlocal calls
        calls += 1
        if calls > killed_after:
            stopped.set()
            raise asyncio.CancelledError

    library.encoder.before = kill
    ended = asyncio.create_task(ingestion.finish(submitted.version.source_id, 1, app=APP))
    await asyncio.wait([ended, asyncio.create_task(stopped.wait())], return_when=asyncio.FIRST_COMPLETED)
    ended.cancel()
    await ingestion.close()
    before = len(library.encoder.passages)
    library.encoder.before = do_nothing
    finished = await library.finish(submitted.version)
    assert finished.state is SourceState.READY
    chunks = await library.chunks()
    assert len(chunks) == finished.chunk_count
    said = "\n\n".join(chunk.content for chunk in sorted(chunks.values(), key=lambda chunk: chunk.chunk_index))
    assert [said.count(f"Rule {number}:") for number in range(sentences)] == [1] * sentences
    assert await library.indexed() == set(chunks)
    lost = before % 64  # a batch that was embedded in part and never written
    assert len(library.encoder.passages) <= len(chunks) + lost
    assert await library.record.backlog.outbox(limit=9) == []


async def test_a_deleted_source_is_not_found_and_can_come_again() -> None:
    library = Library()
    corpus = await library.create()
    version = await library.add(corpus, "The warranty lasts two years.")
    assert await library.sources.delete(corpus.corpus_id, version.source_id, app=APP) == 1
    assert (await library.search("warranty", corpus)).results == ()
    with pytest.raises(KnowledgeNotFound):
        await library.sources.versions(corpus.corpus_id, version.source_id, app=APP)
    again = await library.add(corpus, "The warranty lasts two years.")
    assert (again.version, again.state) == (1, SourceState.READY)


async def test_the_run_of_a_document_is_known_when_it_is_safe() -> None:
    library = Library()
    corpus = await library.create()
    [submitted] = await library.sources.submit(corpus.corpus_id, [NewDocument(b"text")], app=APP)
    run = await library.record.runs.get(submitted.version.run_id)
    assert run is not None
    assert (run.state, run.app, run.input["source_uri"]) == (RunState.QUEUED, APP, submitted.version.source_uri)


async def test_a_source_that_is_deleted_while_it_waits_is_not_ingested() -> None:
    library = Library()
    corpus = await library.create()
    [submitted] = await library.sources.submit(corpus.corpus_id, [NewDocument(b"text")], app=APP)
    await library.sources.delete(corpus.corpus_id, submitted.version.source_id, app=APP)
    assert await library.record.backlog.pending_sources(limit=9) == []
    assert await library.chunks() == {}


async def test_every_document_that_waits_has_a_run_at_once() -> None:
    library = Library()
    corpus = await library.create()
    documents = [NewDocument(f"Rule {number}.".encode(), source_uri=f"file:{number}") for number in range(4)]
    library.claimed = frozenset({corpus.user_id})
    submitted = await library.sources.submit(corpus.corpus_id, documents, app=APP)
    async with library.ingesting():
        await until(lambda runs: two_are_running(runs) and len(runs) == 4, library)
    states = {run.run_id: run.state for run in await library.runs()}
    assert states.keys() == {each.version.run_id for each in submitted}
    assert sorted(states.values()) == [RunState.QUEUED, RunState.QUEUED, RunState.RUNNING, RunState.RUNNING]
    assert {(run.app, run.input["corpus_id"]) for run in await library.runs()} == {(APP, corpus.corpus_id)}
    library.claimed = frozenset()
    async with library.ingesting():
        assert {run.state for run in await until(all_are_over, library)} == {RunState.DONE}


async def until(is_so: Callable[[list[PipelineRun]], bool], library: Library) -> list[PipelineRun]:
    """The runs as soon as this is true of them."""
    async with asyncio.timeout(20):
        while not is_so(runs := await library.runs()):
            await asyncio.sleep(0.01)
    return runs


def all_are_over(runs: list[PipelineRun]) -> bool:
    return all(run.state.is_over for run in runs)


def two_are_running(runs: list[PipelineRun]) -> bool:
    return [run.state for run in runs].count(RunState.RUNNING) == 2


async def test_a_run_that_is_cancelled_before_its_turn_ingests_nothing_and_can_be_retried() -> None:
    library = Library()
    corpus = await library.create()
    library.claimed = frozenset({corpus.user_id})
    documents = [NewDocument(f"Rule {number}.".encode(), source_uri=f"file:{number}") for number in range(3)]
    submitted = await library.sources.submit(corpus.corpus_id, documents, app=APP)
    async with library.ingesting() as ingestion:
        await until(lambda runs: two_are_running(runs) and len(runs) == 3, library)
        desk = library.desk(ingestion)
        [waiting] = [run for run in await library.runs() if run.state is RunState.QUEUED]
        over = await desk.cancel(waiting.run_id, app=APP)
        assert over.state is RunState.CANCELLED
        library.claimed = frozenset()
        [version] = [each.version for each in submitted if each.version.run_id == waiting.run_id]
        given_up = await ingestion.finish(version.source_id, 1, app=APP)
        assert given_up is not None
        assert (given_up.state, given_up.error) == (SourceState.FAILED, over.error)
        again = await desk.retry(waiting.run_id, app=APP)
        assert (again.retry_of, again.state) == (waiting.run_id, RunState.QUEUED)
        ready = await ingestion.finish(version.source_id, 1, app=APP)
        assert ready is not None
        assert (ready.state, ready.run_id) == (SourceState.READY, again.run_id)
        with pytest.raises(Conflict, match="ready meanwhile"):
            await desk.retry(waiting.run_id, app=APP)
    assert len(await library.indexed()) == 3


async def test_a_run_that_is_cancelled_between_batches_leaves_the_version_before_in_place() -> None:
    library = Library()
    corpus = await library.create()
    first = await library.add(corpus, "The warranty lasts two years.")
    rules = "\n\n".join(f"Rule {number}: keep the door {number} shut." for number in range(400))
    [submitted] = await library.sources.submit(
        corpus.corpus_id, [NewDocument(rules.encode(), source_uri="file:a")], app=APP
    )
    asked = 0
    async with library.ingesting() as ingestion:
        desk = library.desk(ingestion)

        async def cancel_at_the_second_batch() -> None:
            nonlocal asked
            asked += 1
            if asked == 2:
                await desk.cancel(submitted.version.run_id, app=APP)
                await asyncio.sleep(HEARTBEAT.beat_s * 5)

        library.encoder.before = cancel_at_the_second_batch
        stopped = await ingestion.finish(first.source_id, 2, app=APP)
    library.encoder.before = do_nothing
    assert stopped is not None
    assert stopped.state is SourceState.FAILED
    [run] = [run for run in await library.runs() if run.run_id == submitted.version.run_id]
    assert run.state is RunState.CANCELLED
    assert run.error == stopped.error == f"It was cancelled after {run.done} of {run.total}."
    assert 0 < run.done < run.total
    result = await library.search("warranty", corpus)
    assert [hit.version for hit in result.results] == [1]
    await library.settle_index()
    assert len(await library.indexed()) == 1


async def test_runs_whose_version_does_not_wait_any_more_are_ended_at_the_next_look() -> None:
    library = Library()
    corpus = await library.create()
    ready = await library.add(corpus, "The warranty lasts two years.", "file:ready")
    gone = await library.add(corpus, "Doors stay shut.", "file:gone")
    for run in await library.runs():  # as of a process that died before it could say how the run ended
        unended: dict[str, object] = {"state": RunState.RUNNING, "output": {}, "ended_at": None}
        await library.record.runs.save(run.model_copy(update=unended))
    await library.sources.delete(corpus.corpus_id, gone.source_id, app=APP)
    async with library.ingesting():
        runs = {run.run_id: run for run in await until(all_are_over, library)}
    assert (runs[ready.run_id].state, runs[ready.run_id].output["chunks"]) == (RunState.DONE, 1)
    assert (runs[gone.run_id].state, runs[gone.run_id].error) == (RunState.FAILED, "the source was deleted")


async def test_a_run_that_ends_while_it_is_looked_at_stays_as_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    corpus = await library.create()
    await library.add(corpus, "The warranty lasts two years.")
    [ended] = await library.runs()
    looked = asyncio.Event()

    async def find_as_before(*_: object, **__: object) -> list[PipelineRun]:
        looked.set()
        return [ended.model_copy(update={"state": RunState.RUNNING, "output": {}, "done": 0, "ended_at": None})]

    monkeypatch.setattr(library.record.runs, "find", find_as_before)
    async with library.ingesting():
        await looked.wait()
        await asyncio.sleep(0.02)
    assert await library.record.runs.get(ended.run_id) == ended


async def test_a_backlog_that_is_embedded_in_bulk_is_waited_for() -> None:
    library = Library()
    corpus = await library.create()
    library.claimed = frozenset({corpus.user_id})
    [submitted] = await library.sources.submit(corpus.corpus_id, [NewDocument(b"Doors stay shut.")], app=APP)
    ingestion = library.open_ingestion()
    ingestion.begin()
    finishing = asyncio.create_task(ingestion.finish(submitted.version.source_id, 1, app=APP))
    while not await library.chunks():
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    assert library.encoder.passages == []
    library.claimed = frozenset()
    finished = await finishing
    assert finished is not None
    assert finished.state is SourceState.READY
    await ingestion.close()


async def test_the_steps_are_logged_with_the_fields_of_the_document() -> None:
    library = Library()
    corpus = await library.create()
    with structlog.testing.capture_logs() as logs:
        await library.add(corpus, "The warranty lasts two years.", "file:a")
        await library.search("warranty", corpus, limit=3)
    events = {line["event"]: {key for key in line if key not in ("event", "log_level")} for line in logs}
    assert events["ingestion_started"] == {
        "corpus_id", "app_name", "text_length", "source_uri", "chunk_size", "overlap"
    }  # fmt: skip
    assert events["chunks_created"] == {"corpus_id", "chunk_count"}
    assert events["embeddings_attached"] == {"corpus_id", "chunk_count"}
    assert events["ingestion_completed"] == {"corpus_id", "record_count"}
    assert events["search_started"] == {"corpus_id", "app_name", "mode", "limit", "query_preview"}
    assert events["search_completed"] == {
        "corpus_id", "mode", "semantic_count", "keyword_count", "merged_count"
    }  # fmt: skip
