"""A service with a language model: it reads facts and writes summaries, nothing waits for it, and its loss is seen."""

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from testing.language_model_server import LanguageModelServer
from tests.e2e.conftest import Service

pytestmark = pytest.mark.e2e

SUMMARY = "Works at Hooli and lives in Leeds."
_PATIENCE_S = 60


def answer(body: dict[str, Any]) -> str:
    """What a model would find in the one message, and a summary of whatever it is given."""
    if body["response_format"]["json_schema"]["name"] == "category_summary":
        return json.dumps({"summary": SUMMARY})
    empty: dict[str, Any] = {"subject": "user", "qualifiers": [], "time": None}
    told = [("works_at", "Hooli"), ("lives_in", "Leeds")] if "Hooli" in body["messages"][-1]["content"] else []
    return json.dumps({"facts": [empty | {"predicate": name, "object": object_} for name, object_ in told]})


@pytest.fixture
def model(language_model: LanguageModelServer) -> Iterator[LanguageModelServer]:
    """The language model, which answers."""
    before, language_model.otherwise = language_model.otherwise, answer
    yield language_model
    language_model.otherwise = before
    language_model.forget()


def say(http: httpx.Client, user: str, message: str, *, wait: bool = True) -> None:
    body = {"user_id": user, "session_id": "s", "message": message, "wait": wait}
    assert http.post("/chat", json=body).status_code == 200


def items(http: httpx.Client, user: str) -> set[tuple[str, str]]:
    results = http.get("/items", params={"user_id": user}).json()["results"]
    return {(fact["predicate"], fact["object"]) for fact in results}


@pytest.mark.usefixtures("model")
def test_what_the_model_reads_and_writes_is_kept_and_shown(
    http: httpx.Client, configured: Service, secrets: Mapping[str, str]
) -> None:
    say(http, "mia", "I work at Hooli and live in Leeds.")
    assert items(http, "mia") == {("works_at", "Hooli"), ("lives_in", "Leeds")}
    listed = http.post("/summarize", json={"user_id": "mia"}).json()["results"]
    assert SUMMARY in {part["summary"] for part in listed}
    parts = http.get("/health/detailed").json()["parts"]
    assert parts["learner"]["language_model_facts_answered"] >= 1
    assert parts["language_model"]["status"] == "ok"
    assert 'figure="language_model_prompt_tokens"' in http.get("/metrics").text
    logs = "".join(file.read_text() for file in (configured.home / "logs").iterdir() if file.is_file())
    assert secrets["language_model.api_key"] not in logs


def test_no_reply_waits_for_it_and_its_loss_shows_in_the_health(http: httpx.Client, model: LanguageModelServer) -> None:
    model.hang(times=20)
    begin = time.monotonic()
    say(http, "max", "I work at Hooli and live in York.", wait=False)
    assert time.monotonic() - begin < 5, "the model takes five seconds to be given up"
    end = time.monotonic() + _PATIENCE_S
    while (learner := http.get("/health/detailed").json()["parts"]["learner"])["status"] == "ok":
        assert time.monotonic() < end
        time.sleep(0.2)
    assert "tiny" in learner["error"]
    assert learner["language_model_facts_missing"] >= 1
