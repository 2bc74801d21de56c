"""What is acknowledged survives: a restart, and `kill -9` of any process (DESIGN §3.6, §7)."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from deployments.http.schemas.memory.chat import SearchReply
from jiyi import Client
from tests.e2e.conftest import Service

pytestmark = pytest.mark.e2e

PARTS = ("Embedder", "VectorShard", "Extractor", "Resolver", "Retriever", "Learner", "Ingress", "SessionServer")


def _add(client: Client, user: str, first: int, last: int) -> list[str]:
    """Adds numbered turns one by one; returns the ids that were acknowledged."""
    ids = []
    for number in range(first, last):
        message = {"content": f"料號 ZX{number:04d}-77 還有 {number} 個。", "turn_id": f"t{number}"}
        ids.append(client.add([message], user_id=user, wait=False).results[0].id)
    return ids


def _undegraded(client: Client, query: str, user: str) -> SearchReply:
    """A search by all legs: a part that has just come back may miss a deadline on a busy machine, and only then."""
    for _ in range(20):
        reply = client.search(query, user_id=user, top_k=5, kinds=["memory"])
        if not reply.degraded:
            return reply
        time.sleep(0.5)
    raise AssertionError(f"still without {reply.degraded}")


def _all_found(client: Client, user: str, ids: list[str]) -> None:
    for number, id_ in enumerate(ids):
        reply = _undegraded(client, f"ZX{number:04d}-77", user)
        assert id_ in [hit.id for hit in reply.results], number
    known = client.entities.recent(user_id=user, limit=100).results
    mentioned = {entity.entity_value: entity.mention_count for entity in known}
    assert mentioned == {f"ZX{number:04d}-77": 1 for number in range(len(ids))}


@pytest.mark.parametrize(
    "victims", [PARTS, ("redis-server", "valkey-server"), ("ProxyActor",)], ids=["replicas", "redis", "proxy"]
)
def test_killing_processes_loses_nothing_acknowledged(service: Service, victims: tuple[str, ...]) -> None:
    user = f"survivor of {victims[0]}"
    with service.client as client:
        ids = _add(client, user, 0, 5)
        killed = service.kill(lambda name: any(victim in name for victim in victims))
        assert killed
        ids += _add(client, user, 5, 10)
        service.wait_until_whole()
        client.add([{"content": "done", "turn_id": "end"}], user_id=user)  # waits until all is learned
        _all_found(client, user, ids)


def test_a_session_outlives_its_server(service: Service) -> None:
    with service.client as client:
        client.chat("我們買了 AI-Box。", user_id="sam", session_id="s")
        assert service.kill(lambda name: name in ("redis-server", "valkey-server"))
        service.wait_until_whole()
        assert client.resolve("它多少錢？", user_id="sam", session_id="s").resolved_query == "AI-Box 多少錢？"


def test_the_loss_of_the_cluster_itself_is_repaired(service: Service) -> None:
    with service.client as client:
        ids = _add(client, "phoenix", 0, 3)
        service.kill_until_replaced("raylet")  # for some seconds the others answer without it
        service.wait_until_whole(timeout_s=180)
        client.add([{"content": "done", "turn_id": "end"}], user_id="phoenix")
        _all_found(client, "phoenix", ids)


def test_everything_is_there_after_a_restart(service: Service) -> None:
    """And what other tests have said: this is the one restart of the service, and tells the stories of all."""
    with service.client as client:
        client.chat("我的車位是 B2-17。", user_id="restarted", session_id="s", wait=True)
        client.chat("我們買了 AI-Box。", user_id="restarted", session_id="s", wait=True)
    service.stories.append(_a_request_under_way(service))
    service.restart()
    with service.client as client:
        assert client.chat("它多少錢？", user_id="restarted", session_id="s").resolved_query == "AI-Box 多少錢？"
        assert "B2-17" in client.chat("我的車位在哪裡？", user_id="restarted", session_id="new").reply


def _a_request_under_way(service: Service) -> Iterator[None]:
    """It is answered while the service ends; the next finds nobody."""
    body = {"input": ["a request under way " * 130] * 48, "encoding_format": "base64"}
    with ThreadPoolExecutor(1) as caller:
        under_way = caller.submit(httpx.post, f"{service.url}/v1/embeddings", json=body, timeout=120)
        time.sleep(0.5)
        assert not under_way.done()
        yield
        assert under_way.result().status_code == 200
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{service.url}/health/live")
    yield
