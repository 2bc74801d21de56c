"""The OpenAPI document is true: schemathesis finds no reply, refusal or header that it does not describe."""

import itertools
import logging
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from time import perf_counter
from typing import Any

import pytest
import schemathesis
import structlog
from hypothesis import HealthCheck, settings
from schemathesis.config import SchemathesisConfig

from deployments.config.access_settings import HttpArgs
from deployments.http.app import build_http
from deployments.http.identity.authentication import Authenticator
from deployments.http.support.bodies import NDJSON
from deployments.http.support.services import Services
from memory.values.access.identity import KeyScope
from tests.deployments.conftest import open_fakes

EXAMPLES = int(os.environ.get("JIYI_CONTRACT_EXAMPLES", "0"))
"""Of each operation; by default few, and the same in each run. `make contract` tries more, and others each time."""

pytestmark = pytest.mark.slow
_JUDGED = (
    "/v1/embeddings",
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/conversations",
    "/v1/conversations/{conversation_id}/items",
    "/v1/rerank",
    "/v1/models/{model}",
    "/v1/vector_stores/{vector_store_id}/search",
    "/index/reembed",
    "/entities",
    "/entities/aliases",
    "/entities/merge",
    "/entities/split",
    "/entities/{entity_id}",
    "/relations",
    "/keys",
    "/import",
    "/erasures",
    "/memories/audit",
    "/store/items",
    "/store/items/search",
    "/store/batch",
    "/store/checkpoints/batch",
    "/knowledge/base",
    "/knowledge/base/{corpus_id}",
    "/knowledge/base/{corpus_id}/ingest",
    "/knowledge/graph/{corpus_id}/build",
    "/knowledge/graph/{corpus_id}/write-back",
)
"""Routes that judge a value by what it means (422): which models there are, what may be the name of an entity, which
time is in the future or before another, what is an export, whether a version is of something that is decided on,
what is a JSON Schema, a condition of a filter or a path into a document.
"""
schemathesis.serializer.alias(NDJSON, "text/plain")
_CONFIG = SchemathesisConfig.from_dict(
    {
        "request-timeout": 3600,  # no test asserts a time
        "generation": {"mode": "all", "no-shrink": True},
        "operations": [
            {"include-path": path, "checks": {"positive_data_acceptance": {"enabled": False}}} for path in _JUDGED
        ],
    }
)
_HTTP = HttpArgs(hosts=("testserver",))
_HEADERS: dict[str, dict[str, str]] = {"nobody": {}, "wrong key": {"X-API-Key": f"jiyi_{'0' * 16}_{'0' * 43}"}}
"""What callers of the service with credentials send, by what they are; the keys are made when it starts."""


@asynccontextmanager
async def _open_guarded() -> AsyncIterator[Services]:
    async with open_fakes() as services:
        keys = services.authenticator.keys
        for scope in KeyScope:
            issued = await keys.create(scope.value, scope=scope, user="ada" if scope is KeyScope.USER else None)
            _HEADERS[f"{scope.value} key"] = {"Authorization": f"Bearer {issued.secret}"}
        yield replace(services, authenticator=Authenticator(keys=keys, required=True))


_OPEN, _GUARDED = build_http(open_fakes, http=_HTTP), build_http(_open_guarded, http=_HTTP)
SCHEMA = schemathesis.openapi.from_asgi("/openapi.json", _GUARDED, config=_CONFIG)
_CALLERS = itertools.cycle(
    [
        *[(name, _GUARDED, sent) for name, sent in _HEADERS.items()],  # two of these six get 401
        *[(name, _GUARDED, sent) for name, sent in _HEADERS.items() if name in [f"{scope} key" for scope in KeyScope]],
        *[("open service", _OPEN, {})] * 3,
    ]
)
_sent: Counter[tuple[str, str, int]] = Counter()
"""Requests by operation, caller and status."""


@pytest.fixture(scope="module", autouse=True)
def summary(request: pytest.FixtureRequest) -> Iterator[None]:
    """Writes what was sent to standard error, without a log line for each request."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    start, failed_before = perf_counter(), request.session.testsfailed
    yield
    structlog.reset_defaults()
    callers, classes = Counter[str](), Counter[str]()
    for (_, caller, status), count in _sent.items():
        callers[caller] += count
        classes[f"{status // 100}xx"] += count
    lines = [
        f"contract: {len({operation for operation, _, _ in _sent})} operations, {_sent.total()} requests in "
        f"{perf_counter() - start:.0f} s, {request.session.testsfailed - failed_before} failures",
        *(", ".join(f"{name} {count}" for name, count in sorted(counter.items())) for counter in (callers, classes)),
    ]
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        sys.stderr.write("\n".join(["", *lines, ""]))


@SCHEMA.parametrize()
@settings(
    max_examples=EXAMPLES or 10,
    derandomize=not EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=[*HealthCheck],
)
def test_each_reply_is_described(case: schemathesis.Case[Any]) -> None:
    caller, app, headers = next(_CALLERS)
    if not _names_user(case):
        headers = {"X-Jiyi-User": "ada"} | headers  # JSON Schema cannot say that it takes the place of `user_id`
    response = case.call(app=app, headers=headers)
    _sent[case.operation.label, caller, response.status_code] += 1
    case.validate_response(response, headers=headers, transport_kwargs={"app": app, "headers": headers})


def _names_user(case: schemathesis.Case[Any]) -> bool:
    return "user_id" in case.query or (isinstance(case.body, dict) and "user_id" in case.body)
