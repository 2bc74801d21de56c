"""What is asked of a graph: names, neighbours, ways, a view, communities, evidence, and a user's memory of a node."""

from datetime import UTC, datetime
from typing import Any

import pytest

from memory.knowledge.graph.communities import find_communities
from memory.knowledge.graph.linking import entities_of_node
from memory.knowledge.graph.queries import GraphPlace, Match
from memory.knowledge.graph.versions import Corrections, EdgeEdit
from memory.values.documents.corpora import Corpus
from memory.values.documents.graphs import Finder
from memory.values.entities import Entity
from memory.values.errors import CorpusNotFound, KnowledgeNotFound
from memory.values.ids import entity_id
from memory.values.text import normalise
from tests.memory.knowledge.graph.workshop import APP, Workshop

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TEXTS = {
    "file:a": "# 公司\n\n王小明在台積電工作。台積電位於新竹。",
    "file:b": "鴻海的郭董拜訪了台積電。",
    "file:c": "Alice met Bob in Berlin.",
}


@pytest.fixture
async def workshop() -> Workshop:
    return Workshop()


@pytest.fixture
async def corpus(workshop: Workshop) -> Corpus:
    corpus = await workshop.create()
    for uri, text in TEXTS.items():
        await workshop.add(corpus, text, uri)
    await workshop.build(corpus)
    return corpus


def place(corpus: Corpus) -> GraphPlace:
    return GraphPlace(corpus.app, corpus.corpus_id)


async def id_of(workshop: Workshop, corpus: Corpus, name: str) -> str:
    [found, *_] = await workshop.queries.find(place(corpus), name, match=Match.EXACT, limit=1)
    return found.node.node_id


class TestFind:
    @pytest.mark.parametrize("name", ["台積電", "台积电", " 台積電 "])
    async def test_a_name_is_found_whatever_its_script(self, workshop: Workshop, corpus: Corpus, name: str) -> None:
        found = await workshop.queries.find(place(corpus), name, limit=5)
        assert [(each.node.name, each.match) for each in found] == [("台積電", Match.EXACT)]

    async def test_a_beginning_is_found(self, workshop: Workshop, corpus: Corpus) -> None:
        found = await workshop.queries.find(place(corpus), "ber", limit=5)
        assert [(each.node.name, each.match) for each in found] == [("Berlin", Match.PREFIX)]
        assert await workshop.queries.find(place(corpus), "ber", match=Match.EXACT, limit=5) == []

    async def test_an_alias_leads_to_the_name(self, workshop: Workshop, corpus: Corpus) -> None:
        await workshop.add(corpus, "台積電（又稱 TSMC）很大。", "file:d")
        await workshop.build(corpus)
        found = await workshop.queries.find(place(corpus), "tsmc", match=Match.ALIAS, limit=5)
        assert [(each.node.name, each.match) for each in found] == [("台積電", Match.ALIAS)]

    async def test_a_corpus_without_a_graph_says_so(self, workshop: Workshop) -> None:
        other = await workshop.create("other")
        with pytest.raises(KnowledgeNotFound, match="no graph"):
            await workshop.queries.find(place(other), "x", limit=1)

    async def test_another_app_finds_nothing(self, workshop: Workshop, corpus: Corpus) -> None:
        with pytest.raises(CorpusNotFound):
            await workshop.queries.find(GraphPlace("clinic", corpus.corpus_id), "台積電", limit=5)


class TestWalks:
    async def test_neighbours_are_those_of_one_hop_or_two(self, workshop: Workshop, corpus: Corpus) -> None:
        source = await id_of(workshop, corpus, "王小明")
        near = await workshop.queries.neighbours(place(corpus), source, hops=1, limit=9)
        far = await workshop.queries.neighbours(place(corpus), source, hops=2, limit=9)
        assert "鴻海" not in {node.name for node in near.nodes}
        assert {"王小明", "台積電", "新竹", "鴻海"} <= {node.name for node in far.nodes}
        assert "Berlin" not in {node.name for node in far.nodes}
        assert far.complete
        few = await workshop.queries.neighbours(place(corpus), source, hops=2, limit=1)
        assert (len(few.nodes), few.complete) == (2, False)

    async def test_the_shortest_way_is_found_and_none_where_there_is_none(
        self, workshop: Workshop, corpus: Corpus
    ) -> None:
        ends = [await id_of(workshop, corpus, name) for name in ("王小明", "鴻海", "Berlin")]
        paths = await workshop.queries.paths(place(corpus), ends[0], ends[1], hops=4, limit=5)
        [path] = paths.results
        assert [node.name for node in path.nodes] == ["王小明", "台積電", "鴻海"]
        assert [edge.type for edge in path.edges][1:] == ["co_occurs"]
        nowhere = await workshop.queries.paths(place(corpus), ends[0], ends[2], hops=4, limit=5)
        assert (nowhere.results, nowhere.complete) == ((), True)
        too_far = await workshop.queries.paths(place(corpus), ends[0], ends[1], hops=1, limit=5)
        assert too_far.results == ()
        [at_home] = (await workshop.queries.paths(place(corpus), ends[0], ends[0], hops=1, limit=5)).results
        assert [node.name for node in at_home.nodes] == ["王小明"]

    async def test_a_node_that_is_not_there_is_named(self, workshop: Workshop, corpus: Corpus) -> None:
        with pytest.raises(KnowledgeNotFound, match="nowhere"):
            await workshop.queries.neighbours(place(corpus), "nowhere", hops=1, limit=9)
        with pytest.raises(KnowledgeNotFound, match="nowhere"):
            await workshop.queries.paths(
                place(corpus), await id_of(workshop, corpus, "鴻海"), "nowhere", hops=1, limit=1
            )


class TestView:
    async def test_the_largest_nodes_come_first_with_the_edges_between_them(
        self, workshop: Workshop, corpus: Corpus
    ) -> None:
        view = await workshop.queries.view(place(corpus), limit=2)
        assert (view.nodes[0].name, view.nodes[0].chunks, view.complete) == ("台積電", 2, False)
        ids = {node.node_id for node in view.nodes}
        assert all({edge.source_id, edge.target_id} <= ids for edge in view.edges)
        whole = await workshop.queries.view(place(corpus), limit=100)
        assert whole.complete

    async def test_communities_are_what_hangs_together(self, workshop: Workshop, corpus: Corpus) -> None:
        found = await find_communities(workshop.queries, place(corpus), limit=100)
        groups = [{node.name for node in community.nodes} for community in found.results]
        [english] = [group for group in groups if "Berlin" in group]
        assert english == {"Alice", "Bob", "Berlin"}
        assert found == await find_communities(workshop.queries, place(corpus), limit=100)


class TestEvidence:
    async def test_an_edge_shows_the_chunk_the_heading_and_the_words(self, workshop: Workshop, corpus: Corpus) -> None:
        edge = (await workshop.edges(corpus))["王小明", "works_at", "台積電"]
        [evidence] = await workshop.queries.edge_evidence(place(corpus), edge.edge_id, limit=5)
        assert (evidence.source_uri, evidence.headings, evidence.by) == ("file:a", ("公司",), Finder.PATTERN)
        [span] = evidence.spans
        chunk = (await workshop.chunks())[str(evidence.knowledge_id)]
        assert chunk.content[span.start : span.end] == "王小明在台積電工作"
        start = span.start - evidence.quote_start
        assert evidence.quote[start:].startswith("王小明在台積電工作")
        with pytest.raises(KnowledgeNotFound):
            await workshop.queries.edge_evidence(place(corpus), "none", limit=5)

    async def test_a_node_shows_every_chunk_that_names_it(self, workshop: Workshop, corpus: Corpus) -> None:
        node_id = await id_of(workshop, corpus, "台積電")
        evidence = await workshop.queries.node_evidence(place(corpus), node_id, limit=5)
        assert sorted(str(each.source_uri) for each in evidence) == ["file:a", "file:b"]
        [twice] = [each for each in evidence if each.source_uri == "file:a"]
        assert len(twice.spans) == 2
        with pytest.raises(KnowledgeNotFound):
            await workshop.queries.node_evidence(place(corpus), "none", limit=5)

    async def test_what_a_person_added_has_no_place(self, workshop: Workshop, corpus: Corpus) -> None:
        added = Corrections(edges=[EdgeEdit("鴻海", "新竹", "located_in")])
        await workshop.versions.write_back(corpus.corpus_id, added, app=APP)
        edge = (await workshop.edges(corpus))["鴻海", "located_in", "新竹"]
        [evidence] = await workshop.queries.edge_evidence(place(corpus), edge.edge_id, limit=5)
        assert (evidence.knowledge_id, evidence.by, evidence.spans) == (None, Finder.HAND, ())


class TestMemory:
    async def test_a_node_is_joined_with_the_entities_of_that_user_only(
        self, workshop: Workshop, corpus: Corpus
    ) -> None:
        for user_id, value, aliases in (("ann", "台积电", ()), ("bob", "TSMC", ("台積電",)), ("cid", "鴻海", ())):
            await remember(workshop, user_id, value, *aliases)
        node_id = await id_of(workshop, corpus, "台積電")
        for user_id, value in (("ann", "台积电"), ("bob", "TSMC")):
            [link] = await entities_of_node(workshop.record, place(corpus), node_id, user_id=user_id)
            assert (link.entity.user_id, link.entity.entity_value, link.name) == (user_id, value, "台積電")
        assert await entities_of_node(workshop.record, place(corpus), node_id, user_id="cid") == []


async def remember(workshop: Workshop, user_id: str, value: str, *aliases: str, **fields: Any) -> None:
    entity = Entity(
        user_id=user_id,
        entity_id=entity_id(user_id, value),
        entity_value=value,
        normalised_value=normalise(value),
        aliases=aliases,
        first_mentioned=NOON,
        last_mentioned=NOON,
        **fields,
    )
    async with workshop.record.writing(user_id=user_id) as unit:
        await unit.entities.save([entity])
        await unit.commit()
