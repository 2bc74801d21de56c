"""Who may send a request at all: known hosts, the service's own pages, and clients that are no browser."""

import httpx
import pytest

from deployments.config.access_settings import HttpArgs
from deployments.http.support.services import Services
from tests.deployments.serving import serving

CHAT = {"user_id": "ann", "message": "hello"}


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1:8000", "[::1]:8000"])
async def test_loopback_names_are_known(http: httpx.AsyncClient, host: str) -> None:
    assert (await http.get("/index/status", headers={"host": host})).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "10.0.0.1:8000", "[::1", "", "127.0.0.1@x"])
@pytest.mark.parametrize("path", ["/entities?user_id=ann", "/docs", "/nothing"])
async def test_another_host_is_refused(http: httpx.AsyncClient, host: str, path: str) -> None:
    reply = await http.get(path, headers={"host": host})
    assert (reply.status_code, reply.headers["content-type"]) == (400, "application/problem+json")
    assert "JIYI_HTTP__HOSTS" in reply.json()["detail"]


async def test_probes_may_name_any_host(http: httpx.AsyncClient) -> None:
    for path in ("/health/live", "/health/ready"):
        assert (await http.get(path, headers={"host": "10.0.0.1:8000"})).status_code == 200


async def test_hosts_can_be_named(services: Services) -> None:
    async with serving(services, http=HttpArgs(hosts=("jiyi.example.org", "*.example.com"))) as client:
        for host, status in {
            "jiyi.example.org": 200,
            "a.b.example.com:443": 200,
            "example.com": 400,
            "badexample.com": 400,
            "localhost": 400,
        }.items():
            assert (await client.get("/index/status", headers={"host": host})).status_code == status, host
    async with serving(services, http=HttpArgs(hosts=("*",))) as client:
        assert (await client.get("/index/status", headers={"host": "anything"})).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "origin": "http://localhost"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:3000"},
    ],
)
@pytest.mark.parametrize("path", ["/chat", "/index/rebuild"])
async def test_pages_of_other_sites_change_nothing(
    http: httpx.AsyncClient, services: Services, path: str, headers: dict[str, str]
) -> None:
    reply = await http.post(path, headers=headers, **({"json": CHAT} if path == "/chat" else {}))  # type: ignore[arg-type]
    assert (reply.status_code, reply.headers["content-type"]) == (403, "application/problem+json")
    assert await services.index.last_run() is None
    assert (await services.record.backlog.counts())["resources"] == 0


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"sec-fetch-site": "same-origin", "origin": "http://localhost"},
        {"sec-fetch-site": "none"},
        {"origin": "http://localhost"},
    ],
)
async def test_own_pages_and_other_clients_may(http: httpx.AsyncClient, headers: dict[str, str]) -> None:
    assert (await http.post("/search", json={"user_id": "ann", "query": "x"}, headers=headers)).status_code == 200


async def test_sites_can_be_allowed(services: Services) -> None:
    async with serving(services, http=HttpArgs(sites=("https://chat.example.org",))) as client:
        for origin, status in {"https://chat.example.org": 200, "http://chat.example.org": 403}.items():
            headers = {"origin": origin, "sec-fetch-site": "cross-site"}
            reply = await client.post("/search", json={"user_id": "ann", "query": "x"}, headers=headers)
            assert reply.status_code == status, origin


@pytest.mark.parametrize("path", ["/entities?user_id=%ff", "/entities/%fe?user_id=ann", "/entities?user_id=a%C3"])
async def test_what_is_not_utf8_is_refused(http: httpx.AsyncClient, path: str) -> None:
    reply = await http.get(path)
    assert (reply.status_code, reply.headers["content-type"]) == (400, "application/problem+json")


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/chat", "POST"),
        ("OPTIONS", "/relations", "GET, POST"),
        ("GET", "/entities/merge", "POST"),
        ("POST", "/entities/x", "DELETE, GET, PATCH"),
        ("GET", "/entities/x/aliases", "DELETE"),
        ("HEAD", "/health/live", "GET"),
    ],
)
async def test_a_405_names_all_methods_of_the_path(http: httpx.AsyncClient, method: str, path: str, allow: str) -> None:
    reply = await http.request(method, path, params={"user_id": "ann"})
    assert (reply.status_code, reply.headers["allow"]) == (405, allow)
    assert reply.headers["content-type"] == "application/problem+json"
