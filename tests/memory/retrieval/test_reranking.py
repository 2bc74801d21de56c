"""The reranking step over a whole memory of fakes."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from memory.ports.models.language import MAX_RERANKED, Priority, Reranker
from memory.ports.services import Retriever
from memory.retrieval.reranking import RerankingRetriever, RerankRecipe
from memory.values.errors import JiyiError, ModelUnavailable, Overloaded
from memory.values.hits import HitKind, SearchRequest, SearchResult
from storage.inmemory.record import InMemoryRecord
from testing.fakes.reranker import FakeReranker
from tests.memory.conftest import NOW, World

ALONE = RerankRecipe(candidates=50, weight=1.0)


class ScriptedReranker(Reranker):
    """Gives passages scripted scores by a word in them, and records the passages."""

    def __init__(self, scores: dict[str, float], error: JiyiError | None = None) -> None:
        self.scores = scores
        self.error = error
        self.passages: list[str] = []

    @override
    async def rerank(
        self, query: str, passages: Sequence[str], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[float]:
        if self.error is not None:
            raise self.error
        self.passages = list(passages)
        own = [text.splitlines()[-1] for text in passages]  # before it stands what was said before
        return [max((score for word, score in self.scores.items() if word in text), default=0.0) for text in own]


def reranking(world: World, reranker: Reranker, recipe: RerankRecipe = ALONE) -> RerankingRetriever:
    return RerankingRetriever(world.retriever, reranker=reranker, record=world.record, recipe=recipe)


def asking(world: World, query: str, top_k: int = 10) -> SearchRequest:
    return SearchRequest(query=query, user_id="ann", top_k=top_k, kinds=(HitKind.MEMORY,), now=world.now)


async def test_the_model_that_reads_both_puts_the_hits_in_order(world: World) -> None:
    await world.note("The key is blue.", "The key is in the drawer.", "The key is lost.")
    result = await reranking(world, ScriptedReranker({"drawer": 0.9, "lost": 0.5})).search(
        asking(world, "Where is the key?")
    )
    assert [hit.text for hit in result.hits] == ["The key is in the drawer.", "The key is lost.", "The key is blue."]
    assert result.degraded == ()


async def test_a_score_is_blended_and_its_parts_are_kept(world: World) -> None:
    await world.note("The key is blue.", "The key is in the drawer.")
    before = {hit.id: hit for hit in (await world.retriever.search(asking(world, "key", top_k=50))).hits}
    recipe = RerankRecipe(candidates=50, weight=0.25)
    for hit in (await reranking(world, ScriptedReranker({"drawer": 0.8}), recipe).search(asking(world, "key"))).hits:
        fused = before[hit.id].score
        scores = {"rerank": 1.0, "relevance": 0.8} if "drawer" in hit.text else {"rerank": 0.0, "relevance": 0.0}
        assert hit.parts == {**before[hit.id].parts, "fused": fused, **scores}
        assert hit.score == pytest.approx(0.25 * hit.parts["rerank"] + 0.75 * fused)


async def test_a_hit_that_would_not_have_been_shown_can_come_first(world: World) -> None:
    await world.note(*(f"key key key {number}" for number in range(20)), "A key hangs behind the door.")
    result = await reranking(world, ScriptedReranker({"door": 1.0})).search(asking(world, "key", top_k=1))
    assert [hit.text for hit in result.hits] == ["A key hangs behind the door."]


async def test_what_was_said_before_and_by_whom_is_read_too(world: World) -> None:
    await world.note("Where is the key?", "In the drawer.", kind="turn", speaker="Bo")
    reranker = ScriptedReranker({})
    await reranking(world, reranker).search(asking(world, "drawer"))
    assert "Where is the key?\nBo: In the drawer." in reranker.passages


async def test_only_the_best_candidates_are_read_and_the_rest_stays_behind_them(world: World) -> None:
    await world.note(*(f"key {number}" for number in range(12)))
    reranker = ScriptedReranker({})
    result = await reranking(world, reranker, RerankRecipe(candidates=5, weight=1.0)).search(asking(world, "key", 12))
    assert len(reranker.passages) == 5
    assert len(result.hits) == 12
    assert all("rerank" in hit.parts for hit in result.hits[:5])
    assert all("rerank" not in hit.parts for hit in result.hits[5:])


@pytest.mark.parametrize("error", [ModelUnavailable("gone", component="reranker"), Overloaded("full")])
async def test_a_reranker_that_cannot_answer_is_named_and_the_fused_ranking_stands(
    world: World, error: JiyiError
) -> None:
    await world.note("The key is blue.", "The key is in the drawer.")
    result = await reranking(world, ScriptedReranker({}, error)).search(asking(world, "key"))
    plain = await world.retriever.search(asking(world, "key", top_k=50))
    assert result.hits == plain.hits
    assert result.degraded == ("rerank",)


async def test_a_broken_reranker_is_not_hidden(world: World) -> None:
    await world.note("The key is blue.", "The key is in the drawer.")

    class BrokenReranker(FakeReranker):
        @override
        async def rerank(
            self, query: str, passages: Sequence[str], *, priority: Priority = Priority.INTERACTIVE
        ) -> list[float]:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await reranking(world, BrokenReranker()).search(asking(world, "key"))


async def test_what_else_is_degraded_stays_named() -> None:
    class DegradedRetriever(Retriever):
        @override
        async def search(self, request: SearchRequest) -> SearchResult:
            return SearchResult(degraded=("record",))

    reranker = FakeReranker()
    step = RerankingRetriever(DegradedRetriever(), reranker=reranker, record=InMemoryRecord())
    assert (await step.search(SearchRequest(query="key", user_id="ann", now=NOW))).degraded == ("record",)
    assert reranker.calls == 0


async def test_entities_are_read_by_their_name(world: World) -> None:
    await world.say("我們今天測試宏康 HCI 和 AI-Box。")
    request = SearchRequest(query="宏康 HCI 好用嗎", user_id="ann", kinds=(HitKind.ENTITY,), now=world.now)
    hits = (await reranking(world, FakeReranker()).search(request)).hits
    assert hits[0].text == "宏康 HCI"
    assert hits[0].parts["rerank"] == 1.0


@given(st.integers(-5, 100), st.floats(-1, 2))
def test_a_recipe_stays_within_its_bounds(candidates: int, weight: float) -> None:
    if 1 <= candidates <= MAX_RERANKED and 0 <= weight <= 1:
        assert RerankRecipe(candidates, weight).candidates == candidates
    else:
        with pytest.raises(ValueError, match=r"weight|candidates"):
            RerankRecipe(candidates, weight)
