"""Graphs are built beside the one that is shown, from what changed, and go on where a killed process stopped."""

import asyncio

import pytest

from memory.knowledge.graph.building import KEPT_VERSIONS
from memory.knowledge.graph.strategies import StrategyName
from memory.ports.jobs import RunState
from memory.values.documents.graphs import GraphState
from memory.values.errors import Conflict, CorpusNotFound, InvalidField, KnowledgeNotFound, ModelUnavailable
from tests.memory.knowledge.graph.workshop import APP, Workshop

FIRST = "王小明在台積電工作。台積電位於新竹。"
SECOND = "Alice lives in Berlin. Bob visited Berlin."


async def do_nothing() -> None:
    pass


@pytest.fixture
def workshop() -> Workshop:
    return Workshop()


async def test_names_and_relations_of_chunks_become_nodes_and_edges(workshop: Workshop) -> None:
    corpus = await workshop.create()
    await workshop.add(corpus, FIRST)
    run = await workshop.build(corpus)
    assert (run.state, run.error) == (RunState.DONE, None)
    assert {"王小明", "台積電", "新竹"} <= (await workshop.nodes(corpus)).keys()
    edges = await workshop.edges(corpus)
    assert ("王小明", "works_at", "台積電") in edges
    assert ("台積電", "located_in", "新竹") in edges
    together = edges.get(("台積電", "co_occurs", "王小明"), None)
    assert together is not None
    assert together.weight == pytest.approx(0.475)
    [version] = await workshop.versions.list(corpus.corpus_id, app=APP)
    assert (version.state, version.active, version.strategy) == (GraphState.READY, True, "reader")
    assert (version.source_count, version.chunk_count) == (1, 1)
    assert (run.output["nodes"], run.output["edges"]) == (version.node_count, version.edge_count)
    assert (run.done, run.total) == (1, 1)


async def test_an_update_reads_only_the_chunks_of_what_changed(workshop: Workshop) -> None:
    corpus = await workshop.create()
    await workshop.add(corpus, FIRST, "file:a")
    await workshop.add(corpus, SECOND, "file:b")
    await workshop.build(corpus)
    workshop.read.clear()
    await workshop.add(corpus, "Alice lives in Paris.", "file:b")
    run = await workshop.build(corpus)
    assert workshop.read == ["Alice lives in Paris."]
    assert (run.output["extracted"], run.output["chunks"]) == (1, 2)
    assert "Berlin" not in await workshop.nodes(corpus)
    assert {"Paris", "台積電"} <= (await workshop.nodes(corpus)).keys()
    assert "Berlin" in await workshop.nodes(corpus, version=1)


async def test_a_full_rebuild_reads_everything_again(workshop: Workshop) -> None:
    corpus = await workshop.create()
    await workshop.add(corpus, FIRST)
    await workshop.build(corpus)
    before = await workshop.edges(corpus)
    workshop.read.clear()
    await workshop.build(corpus, full=True)
    assert workshop.read == [FIRST]
    assert await workshop.edges(corpus) == before


async def test_an_update_reads_everything_again_with_another_version_of_the_code(workshop: Workshop) -> None:
    corpus = await workshop.create()
    await workshop.add(corpus, FIRST)
    await workshop.build(corpus)
    workshop.code = "2"
    workshop.read.clear()
    await workshop.build(corpus)
    assert workshop.read == [FIRST]


async def test_a_version_that_is_built_is_not_shown_before_it_is_ready(workshop: Workshop) -> None:
    corpus = await workshop.create()
    await workshop.add(corpus, FIRST, "file:a")
    await workshop.build(corpus)
    await workshop.add(corpus, SECOND, "file:b")
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        reached.set()
        await go_on.wait()

    workshop.before = wait
    run = await workshop.graphs.build(corpus.corpus_id, app=APP)
    async with workshop.working():
        await reached.wait()
        assert "Berlin" not in await workshop.nodes(corpus)
        with pytest.raises(Conflict, match=run.run_id):
            await workshop.graphs.build(corpus.corpus_id, app=APP)
        go_on.set()
        await workshop.until_over(run.run_id)
    assert "Berlin" in await workshop.nodes(corpus)


async def test_a_version_can_be_built_without_being_shown(workshop: Workshop) -> None:
    corpus = await workshop.create()
    await workshop.add(corpus, FIRST)
    await workshop.build(corpus, activate=False)
    with pytest.raises(KnowledgeNotFound):
        await workshop.nodes(corpus)
    await workshop.versions.activate(corpus.corpus_id, 1, app=APP)
    assert "台積電" in await workshop.nodes(corpus)


async def test_a_build_goes_on_where_its_process_was_killed_with_nothing_twice(workshop: Workshop) -> None:
    corpus = await workshop.create()
    texts = {f"file:{number}": f"Alice met Bob in Berlin on day {number}." for number in range(4)}
    for uri, text in texts.items():
        await workshop.add(corpus, text, uri)
    calls = 0

    async def stop_at_the_third() -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            await asyncio.Event().wait()

    workshop.before = stop_at_the_third
    run = await workshop.graphs.build(corpus.corpus_id, app=APP)
    async with workshop.working():
        async with asyncio.timeout(20):
            while calls < 3:
                await asyncio.sleep(0.01)
    assert len(workshop.read) == 2
    workshop.before = do_nothing
    async with workshop.working():
        assert (await workshop.until_over(run.run_id)).state is RunState.DONE
    assert sorted(workshop.read) == sorted(texts.values())
    assert (await workshop.nodes(corpus))["Alice"].chunks == 4
    assert [version.version for version in await workshop.versions.list(corpus.corpus_id, app=APP)] == [1]


async def test_a_cancelled_build_leaves_what_is_shown_and_its_retry_takes_what_was_done(workshop: Workshop) -> None:
    corpus = await workshop.create()
    await workshop.add(corpus, FIRST, "file:a")
    await workshop.build(corpus)
    await workshop.add(corpus, SECOND, "file:b")
    await workshop.add(corpus, "Tom lives in Rome.", "file:c")
    workshop.read.clear()
    reached = asyncio.Event()
    go_on = asyncio.Event()

    async def wait_at_the_second() -> None:
        if workshop.read:
            reached.set()
            await go_on.wait()

    workshop.before = wait_at_the_second
    run = await workshop.graphs.build(corpus.corpus_id, app=APP)
    async with workshop.working() as queue:
        desk = workshop.build_desk(queue)
        await reached.wait()
        await desk.cancel(run.run_id, app=APP)
        async with asyncio.timeout(20):
            while (await workshop.versions.list(corpus.corpus_id, app=APP))[0].state is GraphState.BUILDING:
                await asyncio.sleep(0.05)  # the wish is noticed with a sign of life
                go_on.set()
        assert (await workshop.until_over(run.run_id)).state is RunState.CANCELLED
        assert "Rome" not in await workshop.nodes(corpus)
        workshop.before = do_nothing
        again = await desk.retry(run.run_id, app=APP)
        assert (await workshop.until_over(again.run_id)).state is RunState.DONE
    assert sorted(workshop.read) == sorted([SECOND, "Tom lives in Rome."])
    assert "Rome" in await workshop.nodes(corpus)


async def test_a_model_that_stays_away_fails_the_build_and_what_is_shown_stays(workshop: Workshop) -> None:
    corpus = await workshop.create()
    await workshop.add(corpus, FIRST, "file:a")
    await workshop.build(corpus)
    await workshop.add(corpus, SECOND, "file:b")

    async def fail() -> None:
        raise ModelUnavailable("The reader is away.", component="reader")

    workshop.before = fail
    run = await workshop.build(corpus)
    assert (run.state, run.error) == (RunState.FAILED, "The reader is away.")
    failed, shown = await workshop.versions.list(corpus.corpus_id, app=APP)
    assert (failed.state, failed.error, failed.active) == (GraphState.FAILED, "The reader is away.", False)
    assert shown.active


async def test_a_deleted_source_takes_its_nodes_out_of_every_version(workshop: Workshop) -> None:
    corpus = await workshop.create()
    await workshop.add(corpus, FIRST, "file:a")
    gone = await workshop.add(corpus, SECOND, "file:b")
    await workshop.build(corpus)
    await workshop.build(corpus, full=True)
    await workshop.delete(gone.source_id)
    for version in (1, 2):
        names = await workshop.nodes(corpus, version)
        assert "台積電" in names
        assert "Berlin" not in names


async def test_a_source_that_is_deleted_during_a_build_leaves_nothing_in_it(workshop: Workshop) -> None:
    corpus = await workshop.create()
    await workshop.add(corpus, FIRST, "file:a")
    gone = await workshop.add(corpus, SECOND, "file:b")

    async def delete() -> None:
        await workshop.delete(gone.source_id)

    workshop.before = delete
    run = await workshop.build(corpus)
    assert (run.state, run.output["sources"]) == (RunState.DONE, 1)
    assert "Berlin" not in await workshop.nodes(corpus)


async def test_a_deleted_corpus_takes_its_graph_along(workshop: Workshop) -> None:
    corpus = await workshop.create()
    await workshop.add(corpus, FIRST)
    await workshop.build(corpus)
    await workshop.corpora.delete(corpus.corpus_id, app=APP)
    with pytest.raises(CorpusNotFound):
        await workshop.versions.list(corpus.corpus_id, app=APP)
    await workshop.create()
    with pytest.raises(KnowledgeNotFound):
        await workshop.nodes(corpus)


async def test_old_versions_are_let_go_but_not_the_one_that_is_shown(workshop: Workshop) -> None:
    corpus = await workshop.create()
    await workshop.add(corpus, FIRST)
    await workshop.build(corpus)
    for _ in range(KEPT_VERSIONS + 2):
        await workshop.build(corpus, activate=False)
    kept = [version.version for version in await workshop.versions.list(corpus.corpus_id, app=APP)]
    assert kept == [*range(KEPT_VERSIONS + 3, 3, -1), 1]
    assert "台積電" in await workshop.nodes(corpus)


async def test_what_a_chunk_repeats_of_the_one_before_counts_once(workshop: Workshop) -> None:
    config = {"chunking": {"chunk_size": 40, "overlap": 20}}
    corpus = await workshop.create(config=workshop.config(config))
    await workshop.add(corpus, "The weather was fine that day. Alice went home early. It rained later all night long.")
    await workshop.build(corpus)
    mentions = (await workshop.nodes(corpus))["Alice"].mentions
    assert mentions == 1


async def test_a_strategy_that_the_service_has_not_is_refused(workshop: Workshop) -> None:
    corpus = await workshop.create()
    with pytest.raises(InvalidField, match="model"):
        await workshop.graphs.build(corpus.corpus_id, app=APP, strategy=StrategyName.MODEL)


async def test_an_update_keeps_the_strategy_of_what_is_shown(workshop: Workshop) -> None:
    corpus = await workshop.create()
    await workshop.add(corpus, FIRST)
    run = await workshop.graphs.build(corpus.corpus_id, app=APP, strategy=StrategyName.PATTERNS)
    async with workshop.working():
        await workshop.until_over(run.run_id)
    again = await workshop.build(corpus)
    assert again.input["strategy"] == "patterns"
