"""Retrieval in three tiers, and lists of items (002 §4.2, §8.1)."""

from collections.abc import Sequence
from datetime import datetime

import pytest
from typing_extensions import override

from memory.indexing.generations import PerSpace, RecordedSpaces
from memory.indexing.indexer import Indexer
from memory.language.keywords import KeywordAnalyzer
from memory.ports.models.language import FloatMatrix, Priority, TextKind
from memory.ports.services import Retriever
from memory.ports.stores.generations import VectorModel, VectorSpace
from memory.tiers.fact_search import FactSearch
from memory.tiers.items import list_items, list_items_as_of
from memory.tiers.retrieval import TieredRequest, TieredRetrieval
from memory.values.errors import InvalidField, ModelUnavailable
from memory.values.facts import FactStatus
from memory.values.hits import Hit, HitKind, SearchRequest, SearchResult
from storage.inmemory.vectors import InMemoryGenerations
from testing.fakes.encoder import FakeEncoder
from tests.memory.tiers.facts import NOW, days_ago, fact
from tests.memory.tiers.test_context import Contexts

HIT = Hit(kind=HitKind.MEMORY, id="m", text="I like tea", score=1.0, parts={}, created_at=NOW)


class OneHit(Retriever):
    @override
    async def search(self, request: SearchRequest) -> SearchResult:
        assert request.kinds == (HitKind.MEMORY,)
        return SearchResult(hits=(HIT,), degraded=("dense",))


class AwayEncoder(FakeEncoder):
    @override
    async def encode(
        self, texts: Sequence[str], *, kind: TextKind, priority: Priority = Priority.INTERACTIVE
    ) -> FloatMatrix:
        raise ModelUnavailable("away", component="embedder")


async def filled(*, away: bool = False) -> tuple[Contexts, TieredRetrieval]:
    """Facts in the record and in the index, and retrieval over both."""
    contexts, store, analyzer = Contexts(), InMemoryGenerations(), KeywordAnalyzer()
    await contexts.add(
        fact("user", "likes", "tea", days=5),
        fact("user", "allergic_to", "花生", days=9, category="facts"),
        fact("美玲", "occupation", "國小老師", days=4, category="relationships"),
        fact("user", "lives_in", "Boston", days=3, category="facts"),
        fact("user", "lives_in", "Rome", days=8, category="facts", status=FactStatus.ARCHIVED),
    )
    encoder = FakeEncoder(dimension=256)
    model = VectorModel(model_id=encoder.model_id, dimension=encoder.dimension)
    spaces = RecordedSpaces(
        runs=contexts.record.runs, configured=model, open_space=lambda of: VectorSpace(encoder, store.index(of))
    )
    await Indexer(record=contexts.record, spaces=spaces, analyzer=analyzer).index(user_id="ann")
    asked = AwayEncoder(dimension=256) if away else encoder

    def search_in(space: VectorSpace) -> FactSearch:
        return FactSearch(record=contexts.record, encoder=asked, index=space.index, analyzer=analyzer)

    retrieval = TieredRetrieval(
        record=contexts.record,
        contexts=contexts.builder,
        facts=PerSpace(spaces, search_in).current,
        retriever=OneHit(),
    )
    return contexts, retrieval


@pytest.mark.parametrize("away", [False, True])
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("Where does the user live? Boston?", ["Boston"]),
        ("tea or coffee", ["tea"]),
        ("我對什麼過敏？", ["花生"]),
        ("美玲的職業", ["國小老師"]),
        ("", ["Boston", "國小老師", "tea", "花生"]),
    ],
)
async def test_facts_are_found_by_what_they_say_also_without_the_encoder(
    query: str, found: list[str], away: bool
) -> None:
    _, retrieval = await filled(away=away)
    result = await retrieval.retrieve(TieredRequest(user_id="ann", query=query, now=NOW))
    assert [item.object for item in result.items][: len(found)] == found
    assert result.degraded == (("vector",) if away and query else ())


@pytest.mark.parametrize("away", [False, True])
async def test_only_active_facts_of_the_user_are_found(away: bool) -> None:
    contexts, retrieval = await filled(away=away)
    rome = TieredRequest(user_id="ann", query="Rome", now=NOW)
    assert "Rome" not in {item.object for item in (await retrieval.retrieve(rome)).items}
    assert (await retrieval.retrieve(rome.model_copy(update={"user_id": "bob", "query": "tea"}))).items == ()
    async with contexts.record.writing(user_id="ann") as unit:
        [tea] = [item for item in await unit.facts.list() if item.object == "tea"]
        await unit.facts.update_status(tea.fact_id, FactStatus.DELETED, now=NOW)
        await unit.commit()  # the index has not heard of it yet
    found = await retrieval.retrieve(rome.model_copy(update={"query": "tea"}))
    assert "tea" not in {item.object for item in found.items}


async def test_a_fact_is_found_before_the_index_has_seen_it() -> None:
    contexts, retrieval = await filled()
    await contexts.add(fact("user", "lives_in", "Denver", category="facts"), fact("user", "likes", "opera"))
    found = await retrieval.retrieve(TieredRequest(user_id="ann", query="Where do I live?", limit=3, now=NOW))
    objects = [item.object for item in found.items]
    assert "Denver" in objects
    assert "opera" not in objects


async def test_each_tier_goes_deeper_and_what_a_search_touches_was_not_used() -> None:
    contexts, retrieval = await filled()
    summaries, facts, said = [
        await retrieval.retrieve(TieredRequest(user_id="ann", query="tea", tiers=tiers, limit=1, now=NOW))
        for tiers in (1, 2, 3)
    ]
    assert [category.name for category in summaries.categories] == ["preferences", "facts", "relationships"]
    assert summaries.categories[1].summary == "使用者對花生過敏。使用者住在Boston。"
    assert (summaries.items, summaries.resources) == ((), ())
    assert ([item.object for item in facts.items], facts.resources) == (["tea"], ())
    assert (said.items, said.resources, said.degraded) == (facts.items, (HIT,), ("dense",))
    assert contexts.tally.pending == 0


@pytest.mark.parametrize(
    ("moment", "lived"),
    [
        (days_ago(400), []),
        (days_ago(300), ["Taipei"]),
        (days_ago(100), ["Rome"]),
        (days_ago(99), ["Rome"]),
        (NOW, ["Boston"]),
    ],
)
async def test_as_of_a_moment_what_held_then_is_listed(moment: datetime, lived: list[str]) -> None:
    contexts = Contexts()
    archived = FactStatus.ARCHIVED
    await contexts.add(
        fact("user", "lives_in", "Taipei", days=350, status=archived, valid_from=days_ago(350), valid_to=days_ago(100)),
        fact("user", "lives_in", "Rome", days=90, status=archived, valid_from=days_ago(100), valid_to=days_ago(50)),
        fact("user", "lives_in", "Boston", days=50, valid_from=days_ago(50)),
        fact("user", "lives_in", "boston", days=60, valid_from=days_ago(50), status=archived),
        fact("user", "lives_in", "Never", days=20, valid_from=days_ago(350), status=FactStatus.DELETED),
        fact("user", "likes", "tea", category="other"),
    )
    async with contexts.record.reading(user_id="ann") as unit:
        listed = await list_items_as_of(unit, moment, category="preferences")
        assert [item.object for item in listed.items] == lived
        assert listed.total == len(lived)


async def test_items_are_listed_by_category_and_status_latest_first() -> None:
    contexts, _ = await filled()
    async with contexts.record.reading(user_id="ann") as unit:
        one = await list_items(unit, category="facts", limit=1)
        assert ([item.object for item in one.items], one.total) == (["Boston"], 2)
        assert [item.object for item in (await list_items(unit, status=FactStatus.ARCHIVED)).items] == ["Rome"]
        assert (await list_items(unit, status=None)).total == 5


@pytest.mark.parametrize("as_of", [None, NOW])
@pytest.mark.parametrize("limit", [1, 2, 4])
async def test_items_are_listed_page_by_page_also_when_the_last_one_is_gone(as_of: datetime | None, limit: int) -> None:
    contexts, _ = await filled()
    seen: list[str] = []
    after = None
    while True:
        async with contexts.record.writing(user_id="ann") as unit:
            if as_of is None:
                page = await list_items(unit, status=FactStatus.ACTIVE, after=after, limit=limit)
            else:
                page = await list_items_as_of(unit, as_of, status=FactStatus.ACTIVE, after=after, limit=limit)
            seen += [item.object for item in page.items]
            await unit.erasure.delete(facts=[page.items[-1].fact_id])
            await unit.commit()
        if page.next is None:
            break
        after = page.next
    assert seen == ["Boston", "國小老師", "tea", "花生"]


@pytest.mark.parametrize("cursor", ["", "tea", "1.", ".x", "2026-01-01T00:00:00Z/x", "1.x y", "99999999999999999.x"])
async def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    contexts = Contexts()
    async with contexts.record.reading(user_id="ann") as unit:
        with pytest.raises(InvalidField, match="cursor"):
            await list_items(unit, after=cursor)
