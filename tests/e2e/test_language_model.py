"""A service with a language model: it reads facts and writes summaries, nothing waits for it, and its loss is seen."""

import json
import os
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from deployments.host.cluster import free_ports
from testing.language_model_server import LanguageModelServer
from tests.e2e.conftest import Service

pytestmark = pytest.mark.e2e

KEY = "sk-distinctive-key-of-the-language-model"
SUMMARY = "Works at Hooli and lives in Leeds."
_PATIENCE_S = 60


def answer(body: dict[str, Any]) -> str:
    """What a model would find in the one message, and a summary of whatever it is given."""
    if body["response_format"]["json_schema"]["name"] == "category_summary":
        return json.dumps({"summary": SUMMARY})
    empty: dict[str, Any] = {"subject": "user", "qualifiers": [], "time": None}
    told = [("works_at", "Hooli"), ("lives_in", "Leeds")] if "Hooli" in body["messages"][-1]["content"] else []
    return json.dumps({"facts": [empty | {"predicate": name, "object": object_} for name, object_ in told]})


@pytest.fixture(scope="module")
def model() -> Iterator[LanguageModelServer]:
    with LanguageModelServer(key=KEY) as server:
        server.otherwise = answer
        yield server


@pytest.fixture(scope="module")
def service(model: LanguageModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("home")
    settings = {
        "JIYI_HOME": str(home),
        "JIYI_LANGUAGE_MODEL__BASE_URL": model.url,
        "JIYI_LANGUAGE_MODEL__MODEL": "tiny",
        "JIYI_LANGUAGE_MODEL__API_KEY": KEY,
        "JIYI_LANGUAGE_MODEL__MAX_RETRIES": "0",
        "JIYI_LANGUAGE_MODEL__TIMEOUT_S": "5",
    }
    started = Service(home, free_ports(1)[0], os.environ | settings)
    started.up()
    yield started
    started.down()


@pytest.fixture
def http(service: Service) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{service.port}", timeout=60) as client:
        yield client


def say(http: httpx.Client, user: str, message: str, *, wait: bool = True) -> None:
    body = {"user_id": user, "session_id": "s", "message": message, "wait": wait}
    assert http.post("/chat", json=body).status_code == 200


def items(http: httpx.Client, user: str) -> set[tuple[str, str]]:
    results = http.get("/items", params={"user_id": user}).json()["results"]
    return {(fact["predicate"], fact["object"]) for fact in results}


def test_what_the_model_reads_and_writes_is_kept_and_shown(http: httpx.Client, service: Service) -> None:
    say(http, "ann", "I work at Hooli and live in Leeds.")
    assert items(http, "ann") == {("works_at", "Hooli"), ("lives_in", "Leeds")}
    listed = http.post("/summarize", json={"user_id": "ann"}).json()["results"]
    assert SUMMARY in {part["summary"] for part in listed}
    parts = http.get("/health/detailed").json()["parts"]
    assert parts["learner"]["language_model_facts_answered"] >= 1
    assert parts["language_model"]["status"] == "ok"
    assert 'figure="language_model_prompt_tokens"' in http.get("/metrics").text
    logs = "".join(file.read_text() for file in (service.home / "logs").iterdir() if file.is_file())
    assert KEY not in logs


def test_no_reply_waits_for_it_and_its_loss_shows_in_the_health(http: httpx.Client, model: LanguageModelServer) -> None:
    model.hang(times=20)
    begin = time.monotonic()
    say(http, "ben", "I work at Hooli and live in York.", wait=False)
    assert time.monotonic() - begin < 5, "the model takes five seconds to be given up"
    end = time.monotonic() + _PATIENCE_S
    while (learner := http.get("/health/detailed").json()["parts"]["learner"])["status"] == "ok":
        assert time.monotonic() < end
        time.sleep(0.2)
    assert "tiny" in learner["error"]
    assert learner["language_model_facts_missing"] >= 1
