"""The Embedder behind its handle: short texts share messages, long ones go alone, and each caller has his own fate."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from deployments.remote.embedder import EncodeRequest, RemoteEmbedder, RemoteEncoder
from deployments.remote.handles import Remote
from deployments.serve.encoders import Encoders
from memory.ports.models.language import Priority, TextKind
from memory.values.errors import InvalidField, ModelUnavailable, Unavailable
from models.batching.queue import BatchLimits
from models.encoder.batched_encoder import BatchedEncoder
from testing.fakes.encoder import FakeEncoderEngine
from tests.deployments.remote.handles import Response

MODEL = "fake"


def _make(model_id: str) -> BatchedEncoder:
    if model_id != MODEL:
        raise ModelUnavailable("there is no such model")
    return BatchedEncoder(FakeEncoderEngine(dimension=8), limits=BatchLimits(max_waiting_items=64))


class World:
    """The encoders of an Embedder, and a handle to them that counts messages."""

    def __init__(self) -> None:
        self.encoders = Encoders(MODEL, make=_make)
        self.messages: list[int] = []
        self.hold: asyncio.Event | None = None
        handle: Any = SimpleNamespace(embed=SimpleNamespace(remote=self._carry))
        self.handle = handle
        self.remote = RemoteEmbedder(Remote(handle, component="embedder", deadline_s=5.0))
        self.encoder = RemoteEncoder(self.remote, model_id=MODEL, dimension=8)

    def _carry(self, requests: list[EncodeRequest], priority: Priority) -> Response:
        self.messages.append(len(requests))

        async def work() -> Any:
            if self.hold is not None:
                await self.hold.wait()
            return await self.encoders.embed(requests, priority)

        return Response(work())


@pytest.fixture
async def world() -> AsyncIterator[World]:
    remote_world = World()
    yield remote_world
    await remote_world.encoders.close()


async def test_texts_come_back_in_order_with_their_tokens(world: World) -> None:
    texts = ["one", "another one", "three"]
    matrix, tokens = await world.encoder.encode_counted(texts, kind=TextKind.QUERY, priority=Priority.INTERACTIVE)
    alone = [await world.encoder.encode([text], kind=TextKind.QUERY) for text in texts]
    assert matrix.shape == (3, 8)
    np.testing.assert_allclose(matrix, np.concatenate(alone), atol=1e-6)
    assert tokens > 0


async def test_many_short_texts_at_once_take_few_messages(world: World) -> None:
    texts = [f"text {number}" for number in range(20)]
    together = await asyncio.gather(*(world.encoder.encode([text], kind=TextKind.QUERY) for text in texts))
    assert len(world.messages) < 10
    expected = await world.encoder.encode(texts, kind=TextKind.QUERY)
    np.testing.assert_allclose(np.concatenate(together), expected, atol=1e-6)


async def test_a_long_text_goes_alone(world: World) -> None:
    world.hold = asyncio.Event()
    short = [asyncio.create_task(world.encoder.encode(["short"], kind=TextKind.QUERY)) for _ in range(4)]
    long = asyncio.create_task(world.encoder.encode(["long " * 200], kind=TextKind.PASSAGE))
    for _ in range(5):
        await asyncio.sleep(0)
    assert world.messages == [1, 1, 1]  # two short ones are under way, two wait; the long one does not
    world.hold.set()
    await asyncio.gather(*short, long)
    assert world.messages[3:] in ([2], [1, 1])


async def test_work_in_bulk_holds_up_nobody_who_waits(world: World) -> None:
    world.hold = asyncio.Event()
    bulk = [
        asyncio.create_task(world.encoder.encode(["bulk"], kind=TextKind.PASSAGE, priority=Priority.BATCH))
        for _ in range(4)
    ]
    query = asyncio.create_task(world.encoder.encode(["query"], kind=TextKind.QUERY))
    for _ in range(5):
        await asyncio.sleep(0)
    assert world.messages == [1, 1, 1]
    world.hold.set()
    await asyncio.gather(*bulk, query)


async def test_what_is_wrong_with_one_request_stays_with_it(world: World) -> None:
    other_encoder = RemoteEncoder(world.remote, model_id="other", dimension=8)
    calls = [
        world.encoder.encode(["fine"], kind=TextKind.QUERY),
        world.encoder.encode(["fine"], kind=TextKind.QUERY),
        other_encoder.encode(["of a model that is not there"], kind=TextKind.QUERY),
        world.encoder.encode(["x"] * 65, kind=TextKind.QUERY),
        world.encoder.encode(["fine, too"], kind=TextKind.QUERY),
    ]
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(result) for result in results] == [
        np.ndarray,
        np.ndarray,
        ModelUnavailable,
        InvalidField,
        np.ndarray,
    ]
    with pytest.raises(InvalidField):
        await world.encoder.encode(["a long text, more than the queue may ever hold"] * 65, kind=TextKind.QUERY)


async def test_who_waits_for_his_message_to_leave_waits_no_longer_than_his_deadline(world: World) -> None:
    world.hold = asyncio.Event()
    impatient = RemoteEmbedder(Remote(world.handle, component="embedder", deadline_s=0.05))
    request = EncodeRequest(["text"], TextKind.QUERY, MODEL)
    calls = (impatient.embed(request, priority=Priority.INTERACTIVE) for _ in range(4))
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(result) for result in results] == [Unavailable] * 4
