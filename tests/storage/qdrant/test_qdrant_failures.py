"""What the adapter says when a Qdrant server does not do what it should: over real HTTP, against the stand-in."""

import pickle
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import grpc
import httpx
import numpy as np
import pytest
from grpc.aio import AioRpcError, Metadata
from qdrant_client import AsyncQdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from memory.ports.stores.vectors import Collection, IndexQuery, VectorIndex
from memory.values.errors import StoreUnavailable
from storage.qdrant.calls import MissingCollection, QdrantCalls, RefusedRequest
from storage.qdrant.vectors import QdrantSettings, QdrantVectors
from storage.resilience.circuit import Circuit
from testing.qdrant_standin import Faults, QdrantStandIn

MEMORIES = Collection.MEMORIES
QUERY = IndexQuery(MEMORIES, 3, dense=np.array([1, 0, 0, 0], dtype=np.float32))


def connected(server: QdrantStandIn, *, api_key: str | None = None, deadline_s: float = 5.0) -> QdrantVectors:
    settings = QdrantSettings(server.url, api_key=api_key, deadline_s=deadline_s)
    return QdrantVectors.connect(settings, model_id="e5", dimension=4)


@pytest.fixture
async def index(qdrant: QdrantStandIn, make: SimpleNamespace) -> AsyncIterator[QdrantVectors]:
    """An index that has worked, with one point of ann's."""
    opened = connected(qdrant)
    await opened.upsert(MEMORIES, [make.point("a")], user_id="ann")
    yield opened
    await opened.close()


def calls(index: VectorIndex, make: SimpleNamespace) -> list[Any]:
    """Every method that asks the server, as it is called."""
    return [
        lambda: index.upsert(MEMORIES, [make.point("b")], user_id="ann"),
        lambda: index.delete(MEMORIES, [make.point_id("b")], user_id="ann"),
        lambda: index.delete_user(MEMORIES, user_id="bob"),
        lambda: index.get(MEMORIES, [make.point_id("a")], user_id="ann"),
        lambda: index.search([QUERY], user_id="ann"),
        lambda: index.count(MEMORIES, user_id="ann"),
        lambda: index.stored(MEMORIES, user_id="ann"),
        lambda: index.users(MEMORIES),
        lambda: index.delete_stale(MEMORIES, {make.point_id("a")}, user_id="ann"),
    ]


FAULTS = {
    "broken": (Faults(reply=(500, b"panicked")), "Qdrant failed .500: panicked"),
    "its disk is full": (Faults(reply=(507, b"WAL is full")), "the disk of Qdrant is full"),
    "its disk is full, said otherwise": (Faults(reply=(500, b"No space left on device")), "the disk of Qdrant is full"),
    "behind a gateway that lost it": (Faults(reply=(502, b"<html>Bad Gateway")), "Qdrant failed .502"),
    "starting": (Faults(reply=(503, b"")), "Qdrant failed .503"),
    "overloaded": (Faults(reply=(429, b"slow down")), "Qdrant failed .429"),
    "overloaded, and says until when": (
        Faults(reply=(429, b'{"status": {"error": "slow down"}}'), headers={"Retry-After": "3"}),
        "Qdrant is overloaded .slow down",
    ),
    "overloaded, and says nonsense": (
        Faults(reply=(429, b"{}"), headers={"Retry-After": "soon"}),
        "Qdrant is overloaded",
    ),
    "a web page": (Faults(reply=(200, b"<html>Welcome")), "an unexpected reply"),
    "another interface": (Faults(reply=(200, b'{"result": {"rows": 3}}')), "an unexpected reply"),
    "silent": (Faults(reply=(200, b'{"result": null, "status": "ok", "time": 0}')), "an unexpected reply"),
    "noise": (Faults(reply=(200, b"\xff\xfe\x00")), "an unexpected reply"),
    "moved": (Faults(reply=(302, b"")), "an unexpected reply .302"),
    "dying in the middle of a reply": (Faults(dies=True), "the connection to Qdrant broke"),
    "closed to us": (Faults(api_keys=("right",)), "refuses the API key .401.: check `api_key`"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_server_that_is_not_well_is_an_outage_that_names_its_cause(
    qdrant: QdrantStandIn, make: SimpleNamespace, fault: str
) -> None:
    client = AsyncQdrantClient(url=qdrant.url, check_compatibility=False)
    never_opens = Circuit("vectors", deadline_s=5, threshold=1000)
    index = QdrantVectors(client, model_id="e5", dimension=4, circuit=never_opens)
    await index.upsert(MEMORIES, [make.point("a")], user_id="ann")
    faults, cause = FAULTS[fault]
    qdrant.faults = faults
    for call in calls(index, make):
        with pytest.raises(StoreUnavailable, match=cause) as caught:
            await call()
        assert caught.value.component == "vectors"
    qdrant.faults = Faults()
    assert await index.count(MEMORIES, user_id="ann") == 1
    await index.close()


async def test_a_wrong_key_is_named_at_the_first_use(qdrant: QdrantStandIn) -> None:
    qdrant.faults = Faults(api_keys=("right",))
    for key in (None, "wrong"):
        index = connected(qdrant, api_key=key)
        with pytest.raises(StoreUnavailable, match="API key"):
            await index.search([QUERY], user_id="ann")
        with pytest.raises(StoreUnavailable, match="API key"):
            await index.ping()
        await index.close()
    index = connected(qdrant, api_key="right")
    assert await index.search([QUERY], user_id="ann") == [[]]
    await index.close()


async def test_a_key_that_may_only_read_searches_and_does_not_write(
    qdrant: QdrantStandIn, index: QdrantVectors, make: SimpleNamespace
) -> None:
    qdrant.faults = Faults(api_keys=("right",), reading_keys=("reading",))
    reader = connected(qdrant, api_key="reading")
    with pytest.raises(StoreUnavailable, match=r"does not let this API key do that .403"):
        await reader.upsert(MEMORIES, [make.point("b")], user_id="ann")
    (hits,) = await reader.search([QUERY], user_id="ann")
    assert len(hits) == 1
    await reader.close()


def test_the_key_is_not_shown() -> None:
    assert "secret" not in repr(QdrantSettings("http://localhost", api_key="secret"))


async def test_a_server_that_is_too_old_is_refused(qdrant: QdrantStandIn) -> None:
    for version in ("1.18.9", "0.99.0", "one"):
        qdrant.faults = Faults(version=version)
        index = connected(qdrant)
        with pytest.raises(StoreUnavailable, match=r"too old: 1.19 is the first|which is no number"):
            await index.search([QUERY], user_id="ann")
        with pytest.raises(StoreUnavailable):
            await index.ping()
        await index.close()
    assert not qdrant.engine.created
    for version in ("1.19.0", "1.20.1-dev", "2.0.0"):
        qdrant.faults = Faults(version=version)
        index = connected(qdrant)
        await index.ping()
        await index.close()


async def test_a_slow_server_is_given_up_at_the_deadline(qdrant: QdrantStandIn, index: QdrantVectors) -> None:
    hasty = connected(qdrant, deadline_s=0.05)
    qdrant.faults = Faults(delay_s=0.5)
    with pytest.raises(StoreUnavailable, match=r"vectors did not answer within 0\.05 s"):
        await hasty.search([QUERY], user_id="ann")
    await hasty.close()


async def test_a_server_that_starts_later_is_found(make: SimpleNamespace) -> None:
    server = QdrantStandIn()
    index = connected(server)
    with pytest.raises(StoreUnavailable, match="Qdrant cannot be reached"):
        await index.upsert(MEMORIES, [make.point("a")], user_id="ann")
    with pytest.raises(StoreUnavailable, match="Qdrant cannot be reached"):
        await index.ping()
    server.start()
    await index.upsert(MEMORIES, [make.point("a")], user_id="ann")
    server.stop()
    with pytest.raises(StoreUnavailable):
        await index.count(MEMORIES, user_id="ann")
    server.start()
    assert await index.count(MEMORIES, user_id="ann") == 1
    await index.close()
    server.stop()


async def test_nobody_waits_for_a_server_that_is_known_to_be_away(qdrant: QdrantStandIn, index: QdrantVectors) -> None:
    qdrant.faults = Faults(reply=(500, b""))
    for _ in range(3):
        with pytest.raises(StoreUnavailable, match="Qdrant failed"):
            await index.search([QUERY], user_id="ann")
    asked = len(qdrant.seen)
    with pytest.raises(StoreUnavailable, match="vectors is away"):
        await index.search([QUERY], user_id="ann")
    assert len(qdrant.seen) == asked
    assert index.figures()["circuit"] == "open"


@pytest.mark.parametrize("status", [400, 409, 413, 422])
async def test_a_request_that_is_refused_as_wrong_is_our_defect_and_no_outage(
    qdrant: QdrantStandIn, index: QdrantVectors, make: SimpleNamespace, status: int
) -> None:
    qdrant.faults = Faults(reply=(status, b'{"status": {"error": "Wrong input"}}'))
    for call in calls(index, make):
        with pytest.raises(RefusedRequest, match=f"{status}: .*Wrong input"):
            await call()
    assert index.figures()["failures"] == 0


async def test_a_collection_that_was_dropped_is_an_outage_once_and_then_made_anew(
    qdrant: QdrantStandIn, index: QdrantVectors, make: SimpleNamespace
) -> None:
    await qdrant.engine.client.delete_collection("ai_box_aam_memory__e5")
    qdrant.engine.drop_aliases()  # as the server does when a collection goes
    with pytest.raises(StoreUnavailable, match="nothing there"):
        await index.count(MEMORIES, user_id="ann")
    assert await index.count(MEMORIES, user_id="ann") == 0


async def test_half_a_batch_may_be_written_and_writing_it_again_makes_it_whole(
    qdrant: QdrantStandIn, index: QdrantVectors, make: SimpleNamespace
) -> None:
    points = [make.point(f"n{n}") for n in range(600)]
    qdrant.faults = Faults(dies=True, only="/points", after=2)
    with pytest.raises(StoreUnavailable, match="broke"):
        await index.upsert(MEMORIES, points, user_id="ann")
    qdrant.faults = Faults()
    assert await index.count(MEMORIES, user_id="ann") == 1 + 512
    await index.upsert(MEMORIES, points, user_id="ann")
    assert await index.count(MEMORIES, user_id="ann") == 1 + 600


RAISED = {
    "401": (UnexpectedResponse(401, "", b"", httpx.Headers()), StoreUnavailable),
    "404": (UnexpectedResponse(404, "", b"", httpx.Headers()), MissingCollection),
    "no status": (UnexpectedResponse(None, "", b"", httpx.Headers()), StoreUnavailable),
    "timeout": (ResponseHandlingException(httpx.ReadTimeout("")), StoreUnavailable),
    "full pool": (ResponseHandlingException(httpx.PoolTimeout("")), StoreUnavailable),
    "no address": (ResponseHandlingException(httpx.ConnectError("unknown host")), StoreUnavailable),
    "closed client": (ResponseHandlingException(RuntimeError("the client has been closed")), StoreUnavailable),
    "exhausted": (ResourceExhaustedResponse("", 1), StoreUnavailable),
    "the client's own check": (ValueError("limit must be positive"), ValueError),
    "a defect here": (KeyError("x"), KeyError),
    **{
        code.name: (AioRpcError(code, Metadata(), Metadata(), details="said"), expected)
        for code, expected in {
            grpc.StatusCode.UNAVAILABLE: StoreUnavailable,
            grpc.StatusCode.DEADLINE_EXCEEDED: StoreUnavailable,
            grpc.StatusCode.INTERNAL: StoreUnavailable,
            grpc.StatusCode.UNKNOWN: StoreUnavailable,
            grpc.StatusCode.RESOURCE_EXHAUSTED: StoreUnavailable,
            grpc.StatusCode.UNAUTHENTICATED: StoreUnavailable,
            grpc.StatusCode.PERMISSION_DENIED: StoreUnavailable,
            grpc.StatusCode.NOT_FOUND: MissingCollection,
            grpc.StatusCode.INVALID_ARGUMENT: RefusedRequest,
            grpc.StatusCode.ALREADY_EXISTS: RefusedRequest,
            grpc.StatusCode.UNIMPLEMENTED: RefusedRequest,
        }.items()
    },
}


@pytest.mark.parametrize("raised", RAISED)
async def test_every_error_of_the_client_library_becomes_one_of_ours_that_travels(raised: str) -> None:
    error, expected = RAISED[raised]

    async def request() -> None:
        raise error

    with pytest.raises(expected) as caught:
        await QdrantCalls(Circuit("vectors", deadline_s=5))(request)
    assert type(caught.value) is expected
    if expected in (StoreUnavailable, MissingCollection, RefusedRequest):
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
