"""Forgetting in chat on the running service: gone from the very next answer, and soon from every store and file."""

import time
from typing import Any

import httpx
import pytest

from tests.e2e.conftest import Service

pytestmark = pytest.mark.e2e

_PATIENCE_S = 60
SAID = [
    ("我健身房的置物櫃密碼是 4056。", "忘掉我健身房的置物櫃密碼。", "健身房的置物櫃密碼是多少？", "4056"),
    ("My gym locker code is 7731.", "Forget my gym locker code.", "What is my gym locker code?", "7731"),
]


def say(http: httpx.Client, user_id: str, message: str) -> dict[str, Any]:
    body = {"user_id": user_id, "session_id": "s", "message": message}
    return dict(http.post("/chat", json=body).raise_for_status().json())


@pytest.mark.parametrize(("told", "request_", "question", "secret"), SAID)
def test_a_secret_is_gone_from_the_next_answer_and_then_from_everything(
    service: Service, told: str, request_: str, question: str, secret: str
) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{service.port}", timeout=60) as http:
        user_id = f"forgets-{secret[::-1]}"
        say(http, user_id, told)
        asked = say(http, user_id, request_)
        assert asked["forgotten"]["outcome"] == "removed", asked
        assert secret not in asked["reply"]
        assert secret not in say(http, user_id, question)["reply"]
        end = time.monotonic() + _PATIENCE_S
        while secret in (exported := http.get("/export", params={"user_id": user_id}).text):
            assert time.monotonic() < end, exported
            time.sleep(0.5)
        assert request_ not in exported
        assert secret not in http.get("/sessions/s", params={"user_id": user_id}).text
        changes = http.get("/changes", params={"user_id": user_id, "kind": "forget"}).json()["results"]
        assert len(changes) == 1
