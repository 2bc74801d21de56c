"""What patterns, the reader and standing together make of a chunk."""

from datetime import UTC, datetime
from typing import Any

import pytest

from memory.extraction.extractor import ReadingExtractor
from memory.knowledge.graph.entities import PatternEntities, ReaderEntities
from memory.knowledge.graph.relations import Cooccurrence, StatedRelations
from memory.knowledge.graph.strategies import StrategyName, builtin_strategies
from memory.values.documents.corpora import Knowledge
from memory.values.documents.graphs import Finder
from memory.values.errors import ModelUnavailable
from memory.values.understanding.mentions import EntitySubtype, Mention
from testing.fakes.reader import FakeReader

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def named(text: str, *names: str) -> list[Mention]:
    return [Mention(text=name, start=text.index(name), end=text.index(name) + len(name)) for name in names]


def chunk(content: str, **fields: Any) -> Knowledge:
    same: dict[str, Any] = {"corpus_id": "c", "source_id": "s", "source_uri": "u", "version": 1, "chunk_index": 0}
    return Knowledge(knowledge_id="k", content=content, created_at=NOON, **same | fields)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("《紅樓夢》很長。", ["紅樓夢"]),
        ("The University of Leeds bought RM05-008.", ["University of Leeds", "RM05-008"]),
        ("他在國立臺灣大學讀書。", ["他在國立臺灣大學"]),
        ("什麼都沒有。", []),
    ],
)
async def test_patterns_find_titles_codes_capitals_and_organisations(text: str, names: list[str]) -> None:
    [found] = await PatternEntities().find([text])
    assert [mention.text for mention in found] == names
    assert all(text[mention.start : mention.end] == mention.text for mention in found)


async def test_the_reader_finds_names_and_says_when_it_is_away() -> None:
    reader = FakeReader()
    entities = ReaderEntities(ReadingExtractor(reader, seeds=()))
    [found] = await entities.find(["王小明明天去京都。"])
    assert [(mention.text, mention.subtype) for mention in found] == [
        ("王小明", EntitySubtype.PERSON), ("京都", EntitySubtype.PLACE)
    ]  # fmt: skip
    with pytest.raises(ModelUnavailable):
        await ReaderEntities(ReadingExtractor(None, seeds=())).find(["王小明"])


async def test_names_of_a_sentence_are_joined_more_strongly_than_those_of_a_chunk() -> None:
    text = "Alice met Bob. Carol slept."
    [found] = await Cooccurrence().find([text], [named(text, "Alice", "Bob", "Carol")])
    strengths = {(relation.source, relation.target): (relation.strength, relation.by) for relation in found}
    assert strengths == {
        ("Alice", "Bob"): (0.5, Finder.SENTENCE),
        ("Alice", "Carol"): (0.1, Finder.CHUNK),
        ("Bob", "Carol"): (0.1, Finder.CHUNK),
    }


async def test_the_number_of_links_stays_in_proportion_to_that_of_names() -> None:
    names = [f"Name{number:03d}" for number in range(100)]
    text = ", ".join(names)
    [found] = await Cooccurrence().find([text], [named(text, *names)])
    assert len(found) <= 6 * len(names)


async def test_what_is_stated_is_a_relation_and_what_is_denied_is_none() -> None:
    text, denied = "王小明在台積電工作。", "王小明不在台積電工作。"
    first, second = await StatedRelations().find(
        [text, denied], [named(text, "王小明", "台積電"), named(denied, "王小明", "台積電")]
    )
    assert [(each.source, each.type, each.target) for each in first] == [("王小明", "works_at", "台積電")]
    assert second == []


async def test_an_alias_becomes_a_node_of_its_own_that_is_joined_with_the_name() -> None:
    strategy = builtin_strategies(ReadingExtractor(FakeReader(), seeds=()))[StrategyName.READER]
    [graph] = await strategy.extract([chunk("台積電（又稱護國神山）很大。")])
    assert {mention.name for mention in graph.mentions} == {"台積電", "護國神山"}
    [alias] = [link for link in graph.links if link.type == "alias"]
    names = {mention.node_id: mention.name for mention in graph.mentions}
    assert (names[alias.source_id], names[alias.target_id]) == ("護國神山", "台積電")


async def test_what_is_repeated_of_the_chunk_before_is_left_out() -> None:
    strategy = builtin_strategies(ReadingExtractor(FakeReader(), seeds=()))[StrategyName.READER]
    text = "Alice met Bob. Kevin left."
    [graph] = await strategy.extract([chunk(text, repeated=len("Alice met Bob. "))])
    assert [mention.name for mention in graph.mentions] == ["Kevin"]
    assert graph.links == []
