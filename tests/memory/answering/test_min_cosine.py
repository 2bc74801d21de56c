"""From which cosine on a memory answers a question that shares no words with it: as the model that found it says."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from typing_extensions import override

from deployments.builders.models.live_model import LiveAnswerer
from memory.answering.answers import Answerer, AnswerRequest
from memory.answering.extractive import ExtractiveAnswerer
from memory.indexing.generations import PerSpace
from memory.language.keywords import KeywordAnalyzer
from memory.ports.stores.generations import VectorSpace, VectorSpaces
from memory.values.errors import StoreUnavailable
from memory.values.hits import CosineBounds, Hit, HitKind
from storage.inmemory.vectors import InMemoryVectors
from testing.fakes.encoder import FakeEncoder

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
SAID = "The spare key lies under the flowerpot."
BOUNDS = {
    "near": CosineBounds(chinese=0.6, other=0.5),
    "far": CosineBounds(chinese=0.95, other=0.9),
    "unmeasured": CosineBounds(),
}


def make_request(question: str, *, cosine: float) -> AnswerRequest:
    hit = Hit(kind=HitKind.MEMORY, id="m", text=SAID, score=0.9, parts={"cosine": cosine}, created_at=NOW)
    return AnswerRequest(message=question, resolved=question, hits=(hit,), now=NOW)


def answerer_of(space: VectorSpace) -> Answerer:
    return ExtractiveAnswerer(analyzer=KeywordAnalyzer(), min_cosine=BOUNDS[space.encoder.model_id])


def space_of(model_id: str) -> VectorSpace:
    return VectorSpace(FakeEncoder(model_id=model_id, dimension=8), InMemoryVectors(dimension=8))


class SwitchableSpaces(VectorSpaces):
    """Vector spaces of which a test sets the live one; without it, asking for it fails."""

    def __init__(self) -> None:
        self.now: VectorSpace | None = None

    @override
    async def live(self) -> VectorSpace:
        if self.now is None:
            raise StoreUnavailable("The record is away.", component="record")
        return self.now

    @override
    async def written(self) -> Sequence[VectorSpace]:
        return [await self.live()]


@pytest.mark.parametrize(("cosine", "answered"), [(0.89, False), (0.9, True)])
async def test_a_memory_that_shares_no_word_answers_from_the_bound_on(cosine: float, answered: bool) -> None:
    answer = await answerer_of(space_of("far")).answer(make_request("How do I get in?", cosine=cosine))
    assert bool(answer.sources) is answered


async def test_the_bound_is_that_of_the_language() -> None:
    answerer = answerer_of(space_of("near"))
    request = make_request("How do I get in?", cosine=0.55)
    assert (await answerer.answer(request)).sources
    chinese = request.model_copy(update={"message": "我怎麼進去？", "resolved": "我怎麼進去？"})
    assert not (await answerer.answer(chinese)).sources


async def test_of_a_model_that_nobody_has_measured_shared_words_alone_count() -> None:
    answerer = answerer_of(space_of("unmeasured"))
    assert not (await answerer.answer(make_request("How do I get in?", cosine=0.999))).sources
    assert (await answerer.answer(make_request("Where is the spare key?", cosine=0.0))).sources


async def test_the_bound_follows_the_model_that_is_live() -> None:
    spaces = SwitchableSpaces()
    answerer = LiveAnswerer(PerSpace(spaces, answerer_of), otherwise=space_of("far"))
    request = make_request("How do I get in?", cosine=0.7)
    has_answer = {}
    for model_id in ("near", "far", "unmeasured", "near"):
        spaces.now = space_of(model_id)
        has_answer[model_id] = bool((await answerer.answer(request)).sources)
    assert has_answer == {"near": True, "far": False, "unmeasured": False}
    spaces.now = None
    assert not (await answerer.answer(request)).sources
