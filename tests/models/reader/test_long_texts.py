"""Long texts: their pieces, the joined reading, and that no other message waits for them."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.ports.models.language import Priority
from memory.values.understanding.readings import (
    Action,
    Context,
    FactSpan,
    Intent,
    Reading,
    ReadRequest,
    Rewrite,
    StatedFact,
)
from models.batching.batched_model import ModelFacts
from models.batching.queue import BatchLimits
from models.reader.long_texts import cut, is_long, join
from models.reader.reader import BatchedReader
from testing.fakes.reader import read_one

SENTENCE = "王小明在台北用 AI-Box 測試新的機器，結果很好。"
LONG = SENTENCE * 1200
MESSAGE = "Alice works in Boston."
_PASS_S = 0.02


@dataclass(frozen=True)
class Prepared:
    request: ReadRequest

    @property
    def token_count(self) -> int:
        return max(1, len(self.request.text))


class SlowModel:
    """Reads by the tables of the fake, in its own time."""

    component = "reader"

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.tokenised: list[int] = []

    def load(self) -> ModelFacts:
        return ModelFacts(checksum="none", dtype="fp32")

    def prepare(self, requests: Sequence[ReadRequest]) -> list[Prepared]:
        self.tokenised.append(sum(len(request.text) for request in requests))
        return [Prepared(request) for request in requests]

    def forward(self, batch: Sequence[Prepared]) -> list[Reading]:
        self.batches.append([prepared.request.text for prepared in batch])
        time.sleep(_PASS_S)
        return [read_one(prepared.request) for prepared in batch]


@pytest.fixture
def model() -> SlowModel:
    return SlowModel()


@pytest.fixture(params=[True, False], ids=["own lanes", "one worker"])
async def reader(model: SlowModel, request: pytest.FixtureRequest) -> AsyncIterator[BatchedReader]:
    started = BatchedReader(model, limits=BatchLimits(own_lanes=request.param))  # type: ignore[arg-type]
    yield started
    await started.model.close(5)


async def test_messages_are_read_between_the_pieces_of_a_long_text(reader: BatchedReader, model: SlowModel) -> None:
    long = asyncio.ensure_future(reader.read([ReadRequest(text=LONG)]))
    while len(model.batches) < 2:  # the first is the warm-up
        await asyncio.sleep(0.001)
    for _ in range(5):
        before = len(model.batches)
        [reading] = await reader.read([ReadRequest(text=MESSAGE)])
        assert [MESSAGE[name.start : name.end] for name in reading.names] == ["Alice", "Boston"]
        assert len(model.batches[before:]) <= 4  # of some thirty that the long text takes
        assert not long.done()
    [reading] = await long
    assert len([name for name in reading.names if LONG[name.start : name.end] == "AI-Box"]) == 1200
    assert max(model.tokenised) < 2000


async def test_short_and_long_texts_of_a_request_come_back_in_order(reader: BatchedReader, model: SlowModel) -> None:
    texts = [MESSAGE, SENTENCE * 60, "", "王小明在高雄。", SENTENCE * 80]
    readings = await reader.read([ReadRequest(text=text) for text in texts], priority=Priority.BATCH)
    assert [reading.rewrite.text for reading in readings] == texts
    assert [len(reading.names) for reading in readings] == [2, 180, 0, 2, 240]


async def test_a_long_text_whose_caller_has_gone_is_read_no_further(reader: BatchedReader, model: SlowModel) -> None:
    long = asyncio.ensure_future(reader.read([ReadRequest(text=LONG)]))
    while len(model.batches) < 3:
        await asyncio.sleep(0.001)
    long.cancel()
    await asyncio.sleep(5 * _PASS_S)
    read = len(model.batches)
    await asyncio.sleep(5 * _PASS_S)
    assert len(model.batches) == read


@given(st.text(st.sampled_from("記憶 ab，。.\n🙂\ud800"), max_size=4000))
def test_the_pieces_are_the_text(text: str) -> None:
    request = ReadRequest(text=text, context=Context(turns=("它在哪裡？",)))
    pieces = cut(request)
    assert "".join(piece.text for piece in pieces) == text
    assert all(0 < len(piece.text.encode("utf-8", "replace")) <= 720 for piece in pieces)
    assert [piece.context for piece in pieces] == [request.context, *[Context()] * (len(pieces) - 1)][: len(pieces)]


def test_a_text_is_cut_after_a_sentence_else_a_clause_else_a_word() -> None:
    assert {piece.text[-1] for piece in cut(ReadRequest(text=SENTENCE * 60))} == {"。"}
    clauses = cut(ReadRequest(text="我們在台北測試新的機器，" * 60))
    assert {piece.text[-1] for piece in clauses} == {"，"}
    words = cut(ReadRequest(text="memory " * 400))
    assert {piece.text[-1] for piece in words} == {" "}


def test_only_texts_of_several_windows_are_long() -> None:
    assert not is_long("記" * 700)
    assert is_long("記" * 800)
    assert not is_long("a" * 2000)
    assert is_long("a" * 2200)


def test_what_is_found_in_a_piece_is_moved_to_its_place() -> None:
    text = "第一句。第二句在台北。"
    pieces = [ReadRequest(text=text[:4]), ReadRequest(text=text[4:])]
    place = FactSpan(text="台北", start=4, end=6)
    fact = StatedFact(predicate="located_in", object=place, subject=FactSpan(text="它", start=0, end=1, turn=2))
    readings = [
        Reading(
            intents=((Intent.STATEMENT, 0.9), (Intent.REQUEST, 0.55)),
            rewrite=Rewrite(action=Action.REWRITE, text="第 1 句。", confidence=0.8),
        ),
        read_one(pieces[1]).model_copy(update={"facts": (fact,), "intents": ((Intent.STATEMENT, 0.4),)}),
    ]
    reading = join(pieces, readings)
    assert [text[name.start : name.end] for name in reading.names] == ["台北"]
    [moved] = reading.facts
    assert text[moved.object.start : moved.object.end] == "台北"
    assert moved.subject == fact.subject
    assert reading.intents == ((Intent.STATEMENT, 0.9), (Intent.REQUEST, 0.55))
    assert (reading.rewrite.action, reading.rewrite.text) == (Action.REWRITE, "第 1 句。第二句在台北。")
