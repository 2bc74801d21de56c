"""Versions of a graph are shown, rolled back, and corrected by hand."""

import pytest

from memory.knowledge.graph.queries import GraphPlace
from memory.knowledge.graph.versions import WRITE_BACK, Corrections, EdgeEdit, NodeEdit
from memory.ports.jobs import RunState
from memory.values.documents.corpora import Corpus
from memory.values.errors import InvalidField, KnowledgeNotFound, VersionConflict
from memory.values.understanding.mentions import EntitySubtype
from tests.memory.knowledge.graph.workshop import APP, Workshop

TEXT = "王小明在台積電工作。"


@pytest.fixture
def workshop() -> Workshop:
    return Workshop()


@pytest.fixture
async def corpus(workshop: Workshop) -> Corpus:
    """A corpus whose graph has two versions: the second knows Berlin."""
    corpus = await workshop.create()
    await workshop.add(corpus, TEXT, "file:a")
    await workshop.build(corpus)
    await workshop.add(corpus, "Alice lives in Berlin.", "file:b")
    await workshop.build(corpus)
    return corpus


async def active(workshop: Workshop, corpus: Corpus) -> list[int]:
    return [each.version for each in await workshop.versions.list(corpus.corpus_id, app=APP) if each.active]


async def test_one_version_is_shown_and_a_rollback_shows_the_one_before(workshop: Workshop, corpus: Corpus) -> None:
    assert await active(workshop, corpus) == [2]
    await workshop.versions.roll_back(corpus.corpus_id, app=APP, expected_version=2)
    assert await active(workshop, corpus) == [1]
    assert "Berlin" not in await workshop.nodes(corpus)
    with pytest.raises(KnowledgeNotFound):
        await workshop.versions.roll_back(corpus.corpus_id, app=APP)
    await workshop.versions.activate(corpus.corpus_id, 2, app=APP)
    assert "Berlin" in await workshop.nodes(corpus)


async def test_an_update_after_a_rollback_has_all_that_is_in_the_corpus(workshop: Workshop, corpus: Corpus) -> None:
    await workshop.versions.roll_back(corpus.corpus_id, app=APP)
    workshop.read.clear()
    await workshop.build(corpus)
    assert workshop.read == []
    assert await active(workshop, corpus) == [3]
    assert "Berlin" in await workshop.nodes(corpus)


async def test_another_version_than_expected_is_refused(workshop: Workshop, corpus: Corpus) -> None:
    with pytest.raises(VersionConflict, match="2"):
        await workshop.versions.activate(corpus.corpus_id, 1, app=APP, expected_version=1)
    with pytest.raises(VersionConflict):
        await workshop.versions.roll_back(corpus.corpus_id, app=APP, expected_version=7)
    with pytest.raises(VersionConflict):
        await workshop.versions.write_back(corpus.corpus_id, Corrections(), app=APP, expected_version=1)
    with pytest.raises(KnowledgeNotFound):
        await workshop.versions.activate(corpus.corpus_id, 9, app=APP)
    assert await active(workshop, corpus) == [2]


async def test_corrections_are_a_version_that_later_builds_keep(workshop: Workshop, corpus: Corpus) -> None:
    berlin = (await workshop.nodes(corpus))["Berlin"].node_id
    corrections = Corrections(
        nodes=[NodeEdit("新竹", EntitySubtype.PLACE)], edges=[EdgeEdit("台積電", "新竹", "located_in")], remove=[berlin]
    )
    written = await workshop.versions.write_back(corpus.corpus_id, corrections, app=APP, expected_version=2)
    assert (written.version, written.active) == (3, True)
    await workshop.add(corpus, "Bob lives in Berlin.", "file:c")
    await workshop.build(corpus, full=True)
    names = await workshop.nodes(corpus)
    assert "Berlin" not in names
    assert names["新竹"].kind is EntitySubtype.PLACE
    assert ("台積電", "located_in", "新竹") in await workshop.edges(corpus)
    assert "Berlin" in await workshop.nodes(corpus, version=2)
    restored = Corrections(restore=[berlin])
    await workshop.versions.write_back(corpus.corpus_id, restored, app=APP)
    assert (await workshop.nodes(corpus))["Berlin"].chunks == 2


async def test_a_write_back_is_a_recorded_run_whether_or_not_it_succeeds(workshop: Workshop, corpus: Corpus) -> None:
    with pytest.raises(InvalidField, match="one node"):
        await workshop.versions.write_back(corpus.corpus_id, Corrections(edges=[EdgeEdit("台積電", "台积电")]), app=APP)
    await workshop.versions.write_back(corpus.corpus_id, Corrections(), app=APP)
    done, failed = await workshop.record.runs.latest(WRITE_BACK, limit=9)
    assert (done.state, done.output, failed.state) == (RunState.DONE, {"version": 3}, RunState.FAILED)
    assert (done.app, done.input["corpus_id"]) == (APP, corpus.corpus_id)


async def test_without_a_graph_there_is_nothing_to_correct(workshop: Workshop) -> None:
    corpus = await workshop.create()
    with pytest.raises(KnowledgeNotFound):
        await workshop.versions.write_back(corpus.corpus_id, Corrections(), app=APP)
    with pytest.raises(KnowledgeNotFound):
        await workshop.queries.view(GraphPlace(APP, corpus.corpus_id), limit=1)
