"""By construction: a route is about one user, open, or for operators, and then every act of it is in the audit log."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import httpx
import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from deployments.http.app import build_http
from deployments.http.doors.openai.speaking import KnownPerson, Person, SpokenBody
from deployments.http.identity.middleware import OPEN_PATHS
from deployments.http.identity.operators import ADMIN, APP_OR_ADMIN, AUDITED
from deployments.http.schemas.users import UserOfPath, UserQuery
from deployments.http.support.services import Services
from deployments.telemetry.tracing import add_trace

_BASE = "/knowledge/base"
_GRAPH = "/knowledge/graph/{corpus_id}"
_WITHOUT_MEMORY = {
    "/v1/embeddings",
    "/v1/models",
    "/v1/models/{model:path}",
    "/v1/rerank",
    "/erasures/{erasure_id}",
    "/knowledge/search",
    *[_BASE + path for path in ("", "/{corpus_id}", "/{corpus_id}/versions", "/{corpus_id}/search")],
    *[_BASE + path for path in ("/{corpus_id}/sources", "/{corpus_id}/sources/{source_id}/versions")],
    *[_GRAPH + path for path in ("", "/versions", "/communities", "/nodes", "/paths")],
    *[_GRAPH + path for path in ("/nodes/{node_id}/neighbours", "/nodes/{node_id}/evidence")],
    _GRAPH + "/edges/{edge_id}/evidence",
}
"""What neither reads nor changes anybody's memory, and needs a credential of any scope: knowledge is an app's."""


def _routes(routes: Any) -> Iterator[APIRoute]:
    for route in routes:
        if isinstance(route, APIRoute):
            yield route
        elif hasattr(route, "original_router"):  # FastAPI keeps an included router whole
            yield from _included(route)


def _included(route: Any) -> Iterator[APIRoute]:
    return _routes(route.original_router.routes)


_ALL = [route for route in _routes(build_http(nullcontext).routes) if route.path not in OPEN_PATHS]  # type: ignore[arg-type]
ROUTES = [route for route in _ALL if not route.path.startswith("/mem0/")]
"""Without the door whose users are named in filters: `test_mem0_door.py` has what no key may reach through it."""


def _calls(dependant: Dependant) -> Iterator[Callable[..., Any] | None]:
    yield dependant.call
    for dependency in dependant.dependencies:
        yield from _calls(dependency)


def _is_for_operators(route: APIRoute) -> bool:
    return bool({ADMIN.dependency, APP_OR_ADMIN.dependency} & {*_calls(route.dependant)})


def _is_of_a_user(route: APIRoute) -> bool:
    bodies: list[Any] = [parameter.field_info.annotation for parameter in route.dependant.body_params]
    named: list[Any] = [UserOfPath, UserQuery, Person, KnownPerson]
    users = {of.__metadata__[0].dependency for of in named}
    return bool(users & {*_calls(route.dependant)}) or any(
        "user_id" in body.model_fields or issubclass(body, SpokenBody) for body in bodies if body
    )


def test_there_are_routes_of_each_kind() -> None:
    assert len(ROUTES) > 45
    assert len([route for route in ROUTES if _is_for_operators(route)]) > 12


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{'|'.join(route.methods)} {route.path}")
def test_a_route_is_about_a_user_or_for_operators_and_then_audited(route: APIRoute) -> None:
    if _is_for_operators(route):
        assert AUDITED.dependency in _calls(route.dependant)
    else:
        assert _is_of_a_user(route) or route.path in _WITHOUT_MEMORY


@pytest.mark.parametrize("route", [route for route in ROUTES if _is_for_operators(route)], ids=lambda route: route.name)
async def test_every_act_of_an_operator_is_one_line_with_the_request(route: APIRoute, http: httpx.AsyncClient) -> None:
    method = min(route.methods or ())
    names = {"key_id": "no-such-key", "kind": "nightly", "run_id": "no-such-run"}
    path = route.path.format(**names, corpus_id="no-such-corpus", source_id="no", version=1)
    body = {"name": "k", "scope": "app", "model": "unknown"}
    with capture_logs() as lines:
        reply = await http.request(method, path, json=body, headers={"X-Request-Id": "of-this-act"})
    acts = [line for line in lines if line["event"].startswith("operator_act")]
    assert reply.headers["x-request-id"] == "of-this-act"
    if method == "GET" or reply.status_code == 422:  # what was not understood is no act
        assert [line for line in acts if line["event"] == "operator_act"] == []
    else:
        assert [line["act"] for line in acts] == [route.name]
        assert (acts[0]["event"] == "operator_act") == (reply.status_code < 400)


@pytest.mark.parametrize("path", ["/health/detailed", "/nothing", "/entities", "/health/live"])
async def test_every_reply_says_its_request_and_its_trace(http: httpx.AsyncClient, path: str) -> None:
    reply = await http.get(path, headers={"X-Request-Id": "abc-1"})
    assert reply.headers["x-request-id"] == "abc-1"
    assert len(reply.headers["traceparent"]) == 55


async def test_so_does_the_reply_to_a_defect_of_ours_and_its_log_line(
    services: Services, http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(services.index, "last_run", fail)
    transport = httpx.ASGITransport(http._transport.app, raise_app_exceptions=False)  # type: ignore[attr-defined]
    async with httpx.AsyncClient(transport=transport, base_url=http.base_url) as client:
        with capture_logs(processors=[merge_contextvars, add_trace]) as lines:
            reply = await client.get("/index/status", headers={"X-Request-Id": "abc-2"})
    assert (reply.status_code, reply.json()["title"]) == (500, "InternalError")
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.headers["x-request-id"] == "abc-2"
    assert len(reply.headers["traceparent"]) == 55
    [line] = [line for line in lines if line["event"] == "request_failed"]
    assert line["request_id"] == "abc-2"
    assert line["trace_id"] in reply.headers["traceparent"]
