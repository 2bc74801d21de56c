"""The OpenAPI document is true: schemathesis finds no reply, refusal or header that it does not describe."""

import os
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.config import SchemathesisConfig

from deployments.config.settings import HttpArgs
from deployments.http.app import build_http
from tests.deployments.conftest import open_fakes

EXAMPLES = int(os.environ.get("JIYI_CONTRACT_EXAMPLES", "0"))
"""Of each operation; by default few, and the same in each run. `make contract` tries more, and others each time."""

pytestmark = pytest.mark.slow
_JUDGED = (
    "/v1/embeddings",
    "/index/reembed",
    "/entities",
    "/entities/aliases",
    "/entities/merge",
    "/entities/split",
    "/entities/{entity_id}",
    "/relations",
)
"""Routes that judge a value by what it means: which models there are, what may be the name of an entity (422)."""
_CONFIG = SchemathesisConfig.from_dict(
    {
        "request-timeout": 3600,  # no test asserts a time
        "generation": {"mode": "all", "no-shrink": True},
        "operations": [
            {"include-path": path, "checks": {"positive_data_acceptance": {"enabled": False}}} for path in _JUDGED
        ],
    }
)
_APP = build_http(open_fakes, http=HttpArgs(hosts=("testserver",)))
SCHEMA = schemathesis.openapi.from_asgi("/openapi.json", _APP, config=_CONFIG)


@SCHEMA.parametrize()
@settings(
    max_examples=EXAMPLES or 10,
    derandomize=not EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=[*HealthCheck],
)
def test_each_reply_is_described(case: schemathesis.Case[Any]) -> None:
    case.call_and_validate()
