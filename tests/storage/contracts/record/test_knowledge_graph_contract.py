"""What every system of record does with knowledge graphs (`memory.ports.stores.graphs`)."""

from datetime import UTC, datetime
from typing import Any

import pytest

from memory.ports.stores.graphs import NodeQuery
from memory.ports.stores.record import SystemOfRecord, UnitOfWork
from memory.values.access.identity import app_owner
from memory.values.documents.corpora import Span
from memory.values.documents.graphs import (
    Finder,
    GraphExtraction,
    GraphLink,
    GraphMention,
    GraphNode,
    GraphState,
    GraphVersion,
)
from memory.values.errors import InvalidField
from memory.values.understanding.mentions import EntitySubtype

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SHOP = app_owner("shop")


def graph(number: int = 1, **fields: Any) -> GraphVersion:
    fields = dict[str, Any](app="shop", corpus_id="c", strategy="reader", run_id="r", created_at=NOON) | fields
    return GraphVersion(version=number, **fields)


def extraction(name: str, source: str = "s", **fields: Any) -> GraphExtraction:
    fields = dict[str, Any](app="shop", corpus_id="c", version=1) | fields
    return GraphExtraction(extraction_id=name, source_id=source, **fields)


def mention(node: str, chunk: str, **fields: Any) -> GraphMention:
    fields = dict[str, Any](key=node.lower(), name=node, spans=(Span(start=0, end=2),)) | fields
    return GraphMention(node_id=node, knowledge_id=chunk, **fields)


def link(source: str, target: str, chunk: str, **fields: Any) -> GraphLink:
    defaults: dict[str, Any] = {"type": "made_by", "strength": 500, "by": Finder.SENTENCE, "span": Span(start=0, end=9)}
    return GraphLink(
        edge_id=f"{source}>{target}", source_id=source, target_id=target, knowledge_id=chunk, **defaults | fields
    )


async def fill(unit: UnitOfWork) -> None:
    """Two sources: `s` names A, B and C in two chunks, `t` names A and D in one; version 1 has both, 2 has `t`."""
    first = [mention("A", "k1", spans=(Span(start=0, end=1), Span(start=4, end=5))), mention("B", "k1")]
    second = [mention("A", "k2", name="a", kind=EntitySubtype.PLACE), mention("C", "k2")]
    await unit.knowledge_graph.save(extraction("x"), first, [link("A", "B", "k1")])
    await unit.knowledge_graph.save(extraction("x", done=2), second, [link("A", "C", "k2"), link("A", "B", "k2")])
    third = [mention("A", "k3"), mention("D", "k3")]
    await unit.knowledge_graph.save(extraction("y", "t"), third, [link("D", "A", "k3", strength=900)])
    await unit.knowledge_graph.add_members("c", 1, ["y", "x"])
    await unit.knowledge_graph.add_members("c", 1, ["x"])
    await unit.knowledge_graph.add_members("c", 2, ["y"])
    await unit.knowledge_graph.save_version(graph(1))
    await unit.knowledge_graph.save_version(graph(2))


def ids(nodes: Any) -> list[str]:
    return [node.node_id for node in nodes]


async def test_versions_come_back_latest_first_and_are_replaced(record: SystemOfRecord) -> None:
    ready = graph(1, state=GraphState.READY, active=True, removed=("a", "b"), node_count=3, ended_at=NOON)
    async with record.writing(user_id=SHOP) as unit:
        for version in (graph(1), graph(2), graph(1, corpus_id="d"), ready):
            await unit.knowledge_graph.save_version(version)
        await unit.commit()
    async with record.reading(user_id=SHOP) as unit:
        assert list(await unit.knowledge_graph.versions("c")) == [graph(2), ready]
        assert list(await unit.knowledge_graph.versions("unknown")) == []


async def test_what_is_another_apps_is_refused(record: SystemOfRecord) -> None:
    async with record.writing(user_id=SHOP) as unit:
        with pytest.raises(InvalidField):
            await unit.knowledge_graph.save_version(graph(1, app="clinic"))
        with pytest.raises(InvalidField):
            await unit.knowledge_graph.save(extraction("x", app="clinic"), [], [])


async def test_nodes_are_what_the_mentions_of_a_version_add_up_to(record: SystemOfRecord) -> None:
    async with record.writing(user_id=SHOP) as unit:
        await fill(unit)
        nodes = await unit.knowledge_graph.nodes(graph(1), NodeQuery())
        assert ids(nodes) == ["A", "B", "C", "D"]
        expected = GraphNode(node_id="A", name="A", names=("A", "a"), kind=EntitySubtype.PLACE, mentions=4, chunks=3)
        assert nodes[0] == expected
        assert ids(await unit.knowledge_graph.nodes(graph(2), NodeQuery())) == ["A", "D"]
        assert ids(await unit.knowledge_graph.nodes(graph(3), NodeQuery())) == []


async def test_nodes_are_found_by_ids_and_by_the_beginning_of_their_names(record: SystemOfRecord) -> None:
    async with record.writing(user_id=SHOP) as unit:
        names = [mention(name, "k", key=name) for name in ("臺灣", "臺灣大學", "臺北", "\U00020000", "%")]
        await unit.knowledge_graph.save(extraction("x"), names, [])
        await unit.knowledge_graph.add_members("c", 1, ["x"])

        async def beginning(prefix: str) -> list[str]:
            return sorted(ids(await unit.knowledge_graph.nodes(graph(), NodeQuery(prefix=prefix))))

        assert await beginning("臺灣") == ["臺灣", "臺灣大學"]
        assert await beginning("臺") == ["臺北", "臺灣", "臺灣大學"]
        assert await beginning("\U00020000") == ["\U00020000"]
        assert await beginning("%") == ["%"]
        assert await beginning("_") == []
        chosen = NodeQuery(node_ids=["臺北", "unknown", "%"])
        assert ids(await unit.knowledge_graph.nodes(graph(), chosen)) == ["%", "臺北"]
        assert len(await unit.knowledge_graph.nodes(graph(), NodeQuery(limit=2))) == 2
        assert len(await unit.knowledge_graph.nodes(graph(), NodeQuery(node_ids=["臺北", "%"], limit=1))) == 1


async def test_edges_are_what_the_links_add_up_to_the_heaviest_first(record: SystemOfRecord) -> None:
    async with record.writing(user_id=SHOP) as unit:
        await fill(unit)
        edges = await unit.knowledge_graph.edges(graph(1), ["A"], limit=9)
        assert [(edge.edge_id, edge.weight, edge.chunks) for edge in edges] == [
            ("A>B", 1.0, 2), ("D>A", 0.9, 1), ("A>C", 0.5, 1),
        ]  # fmt: skip
        assert (edges[0].source_id, edges[0].target_id, edges[0].type) == ("A", "B", "made_by")
        assert [edge.edge_id for edge in await unit.knowledge_graph.edges(graph(1), ["A"], limit=1)] == ["A>B"]
        inside = await unit.knowledge_graph.edges(graph(1), ["A", "C"], inside=True, limit=9)
        assert [edge.edge_id for edge in inside] == ["A>C"]
        assert await unit.knowledge_graph.count(graph(1)) == (4, 3)


async def test_evidence_comes_by_chunk_and_by_strength(record: SystemOfRecord) -> None:
    async with record.writing(user_id=SHOP) as unit:
        await fill(unit)
        mentions = await unit.knowledge_graph.mentions(graph(1), ["C", "A"], limit=9)
        assert [(each.knowledge_id, each.node_id) for each in mentions] == [
            ("k1", "A"), ("k2", "A"), ("k2", "C"), ("k3", "A"),
        ]  # fmt: skip
        assert mentions[0].spans == (Span(start=0, end=1), Span(start=4, end=5))
        strong = link("A", "B", "k9", strength=800, by=Finder.PATTERN)
        await unit.knowledge_graph.save(extraction("x"), [], [strong])
        links = await unit.knowledge_graph.links(graph(1), "A>B", limit=2)
        assert links == [strong, link("A", "B", "k1")]


async def test_the_same_evidence_counts_once_in_an_extraction(record: SystemOfRecord) -> None:
    async with record.writing(user_id=SHOP) as unit:
        await fill(unit)
        before = await unit.knowledge_graph.nodes(graph(1), NodeQuery())
        await fill(unit)
        assert await unit.knowledge_graph.nodes(graph(1), NodeQuery()) == before
        assert await unit.knowledge_graph.extractions(["y", "none", "x"]) == [
            extraction("y", "t"), extraction("x", done=2)
        ]  # fmt: skip
        assert list(await unit.knowledge_graph.members("c", 1)) == ["x", "y"]


async def test_what_a_person_took_out_is_not_shown_in_that_version(record: SystemOfRecord) -> None:
    async with record.writing(user_id=SHOP) as unit:
        await fill(unit)
        without = graph(1, removed=("B", "D>A"))
        assert ids(await unit.knowledge_graph.nodes(without, NodeQuery())) == ["A", "C", "D"]
        edges = await unit.knowledge_graph.edges(without, ["A"], limit=9)
        assert [edge.edge_id for edge in edges] == ["A>C"]
        assert list(await unit.knowledge_graph.mentions(without, ["B"], limit=9)) == []
        assert list(await unit.knowledge_graph.links(without, "A>B", limit=9)) == []
        assert await unit.knowledge_graph.count(without) == (3, 1)


async def test_a_deleted_source_takes_its_evidence_out_of_all_versions(record: SystemOfRecord) -> None:
    async with record.writing(user_id=SHOP) as unit:
        await fill(unit)
        assert await unit.knowledge_graph.delete_source("s") == 1
        for number in (1, 2):
            assert ids(await unit.knowledge_graph.nodes(graph(number), NodeQuery())) == ["A", "D"]
            assert await unit.knowledge_graph.count(graph(number)) == (2, 1)
        assert list(await unit.knowledge_graph.members("c", 1)) == ["y"]
        assert await unit.knowledge_graph.delete_source("s") == 0


async def test_pruned_versions_take_what_none_is_left_of(record: SystemOfRecord) -> None:
    async with record.writing(user_id=SHOP) as unit:
        await fill(unit)
        await unit.knowledge_graph.save(extraction("other", corpus_id="d"), [mention("A", "k9")], [])
        assert await unit.knowledge_graph.prune("c", [2]) == 1
        assert [version.version for version in await unit.knowledge_graph.versions("c")] == [2]
        assert [each.extraction_id for each in await unit.knowledge_graph.extractions(["x", "y", "other"])] == [
            "y", "other"
        ]  # fmt: skip
        assert ids(await unit.knowledge_graph.nodes(graph(2), NodeQuery())) == ["A", "D"]


async def test_a_deleted_corpus_takes_all_versions_and_evidence(record: SystemOfRecord) -> None:
    async with record.writing(user_id=SHOP) as unit:
        await fill(unit)
        assert await unit.knowledge_graph.delete_corpus("c") == 2
        assert list(await unit.knowledge_graph.versions("c")) == []
        assert list(await unit.knowledge_graph.extractions(["x", "y"])) == []
        assert ids(await unit.knowledge_graph.nodes(graph(1), NodeQuery())) == []
        await unit.commit()


async def test_erasing_the_owner_leaves_nothing(record: SystemOfRecord) -> None:
    async with record.writing(user_id=SHOP) as unit:
        await fill(unit)
        await unit.commit()
    assert await record.backlog.users(limit=9) == []
    await record.erase_user(SHOP)
    async with record.reading(user_id=SHOP) as unit:
        assert list(await unit.knowledge_graph.versions("c")) == []
        assert list(await unit.knowledge_graph.extractions(["x"])) == []
        assert await unit.knowledge_graph.count(graph(1)) == (0, 0)
