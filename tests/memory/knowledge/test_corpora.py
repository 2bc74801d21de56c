"""Corpora: unique by app and name, their configuration in versions, deletion with all that they hold (004 §2, §10)."""

import pytest

from memory.knowledge.corpora import CorpusChange
from memory.values.documents.corpora import CorpusConfig, Reranking, SearchMode
from memory.values.errors import (
    Conflict,
    CorpusNotFound,
    InvalidChunkSize,
    InvalidField,
    InvalidSearchConfig,
    KnowledgeNotFound,
    VersionConflict,
)
from tests.memory.knowledge.library import APP, Library


async def test_a_name_is_given_once_in_an_app() -> None:
    library = Library()
    corpus = await library.create("manuals")
    with pytest.raises(Conflict, match="manuals"):
        await library.create("manuals")
    other = await library.corpora.create("manuals", app="clinic")
    assert other.corpus_id != corpus.corpus_id
    assert await library.corpora.list(app="clinic") == [other]
    with pytest.raises(CorpusNotFound):
        await library.corpora.get(corpus.corpus_id, app="clinic")


async def test_each_changed_configuration_is_a_version_and_can_be_taken_again() -> None:
    library = Library()
    corpus = await library.create(config=CorpusConfig())
    changes = {"search": {"mode": "rrf", "rrf_k": 10}, "chunking": {"chunk_size": 100}}
    changed = await library.corpora.change(corpus.corpus_id, CorpusChange(config=changes), app=APP)
    assert (changed.config.search.mode, changed.config.search.rrf_k) == (SearchMode.RRF, 10)
    assert (changed.config.chunking.chunk_size, changed.config.chunking.overlap) == (100, 10)
    assert (changed.config_version, changed.version) == (2, 2)
    described = await library.corpora.change(corpus.corpus_id, CorpusChange(description="new"), app=APP)
    assert (described.config_version, described.version) == (2, 3)
    back = await library.corpora.roll_back(corpus.corpus_id, 1, app=APP)
    assert (back.config, back.config_version, back.description) == (corpus.config, 3, "new")
    versions = await library.corpora.versions(corpus.corpus_id, app=APP)
    assert [(version.version, version.restored) for version in versions] == [(3, 1), (2, None), (1, None)]
    with pytest.raises(KnowledgeNotFound):
        await library.corpora.roll_back(corpus.corpus_id, 9, app=APP)


async def test_a_change_of_another_version_than_expected_is_refused() -> None:
    library = Library()
    corpus = await library.create()
    change = CorpusChange(description="mine", expected_version=1)
    await library.corpora.change(corpus.corpus_id, change, app=APP)
    with pytest.raises(VersionConflict):
        await library.corpora.change(corpus.corpus_id, change, app=APP)
    with pytest.raises(VersionConflict):
        await library.corpora.roll_back(corpus.corpus_id, 1, app=APP, expected_version=1)


@pytest.mark.parametrize(
    ("config", "error", "field"),
    [
        ({"chunking": {"chunk_size": 0}}, InvalidChunkSize, "chunk_size"),
        ({"chunking": {"chunk_size": 100_001}}, InvalidChunkSize, "chunk_size"),
        ({"chunking": {"chunk_size": 10, "overlap": 6}}, InvalidChunkSize, "overlap"),
        ({"search": {"limit": 0}}, InvalidSearchConfig, "limit"),
        ({"search": {"limit": 1001}}, InvalidSearchConfig, "limit"),
        ({"search": {"semantic_weight": 1.1}}, InvalidSearchConfig, "semantic_weight"),
        ({"search": {"keyword_weight": -0.1}}, InvalidSearchConfig, "keyword_weight"),
        ({"search": {"rrf_k": 0}}, InvalidSearchConfig, "rrf_k"),
        ({"search": {"mode": "fuzzy"}}, InvalidField, "config.search.mode"),
        ({"metadata_schema": {"type": "nothing"}}, InvalidField, "config.metadata_schema"),
        ({"metadata_schema": {"$ref": "http://example.org/schema"}}, InvalidField, "config.metadata_schema"),
    ],
)
async def test_a_value_out_of_its_range_is_refused_and_nothing_changes(
    config: dict[str, object], error: type[InvalidField], field: str
) -> None:
    library = Library()
    corpus = await library.create()
    with pytest.raises(error) as refused:
        await library.corpora.change(corpus.corpus_id, CorpusChange(config=config), app=APP)
    assert refused.value.field == field
    assert await library.corpora.get(corpus.corpus_id, app=APP) == corpus


def test_the_defaults_are_those_of_the_document() -> None:
    config = CorpusConfig()
    assert config.model_dump(mode="json") == {
        "chunking": {"strategy": "recursive", "chunk_size": 500, "overlap": 50, "preserve_newlines": True},
        "search": {
            "mode": "hybrid",
            "limit": 10,
            "semantic_weight": 0.5,
            "keyword_weight": 0.5,
            "rrf_k": 60,
            "reranking": "none",
        },
        "metadata_schema": None,
    }


@pytest.mark.parametrize(
    "search",
    [
        {"limit": 1},
        {"limit": 1_000},
        {"semantic_weight": 0.0, "keyword_weight": 1.0},
        {"semantic_weight": 1.0, "keyword_weight": 0.0},
        {"rrf_k": 1},
        {"rrf_k": 1_000},
        *({"mode": mode.value} for mode in SearchMode),
        *({"reranking": reranking.value} for reranking in Reranking),
    ],
)
async def test_both_ends_of_each_range_and_every_mode_are_taken(search: dict[str, object]) -> None:
    library = Library()
    corpus = await library.create()
    changed = await library.corpora.change(corpus.corpus_id, CorpusChange(config={"search": search}), app=APP)
    assert search.items() <= changed.config.search.model_dump(mode="json").items()


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"chunking": {"strategy": "by_page"}}, "config.chunking.strategy"),
        ({"chunking": {"preserve_newlines": "yes"}}, "config.chunking.preserve_newlines"),
        ({"search": {"reranking": "twice"}}, "config.search.reranking"),
        ({"search": {"limit": 2.5}}, "config.search.limit"),
        ({"colour": "red"}, "config.colour"),
    ],
)
async def test_a_value_of_another_type_and_an_unknown_field_are_named(config: dict[str, object], field: str) -> None:
    library = Library()
    corpus = await library.create()
    with pytest.raises(InvalidField) as refused:
        await library.corpora.change(corpus.corpus_id, CorpusChange(config=config), app=APP)
    assert refused.value.field == field


async def test_a_deleted_corpus_takes_sources_chunks_and_vectors_with_it() -> None:
    library = Library()
    corpus, other = await library.create("a"), await library.create("b")
    await library.add(corpus, "The warranty lasts two years.")
    kept = await library.add(other, "The office is in Hsinchu.", "file:b")
    assert await library.corpora.delete(corpus.corpus_id, app=APP) == 1
    assert [chunk.source_id for chunk in (await library.chunks()).values()] == [kept.source_id]
    await library.add(other, "Parking is on floor two.", "file:c")  # indexes what waits
    assert await library.indexed() == set(await library.chunks())
    with pytest.raises(CorpusNotFound):
        await library.search("warranty", corpus)
    assert await library.corpora.list(app=APP) == [other]
