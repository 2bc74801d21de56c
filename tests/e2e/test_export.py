"""What a user said in each language answers another user's question after export and import on a real service."""

import time
from pathlib import Path

import pytest

from deployments.http.schemas.memory.chat import ChatReply
from jiyi import Client
from tests.e2e.conftest import Service
from tests.e2e.test_service import ENGLISH, SIMPLIFIED, TRADITIONAL

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(
    ("said", "asked", "resolved", "answer"), [TRADITIONAL, SIMPLIFIED, ENGLISH], ids=["zh-Hant", "zh-Hans", "en"]
)
def test_another_user_gets_the_same_answer_after_export_and_import(
    service: Service, tmp_path: Path, said: str, asked: str, resolved: str, answer: str
) -> None:
    user, other = f"mover {said[:4]}", f"moved {said[:4]}"
    file = tmp_path / "user.jsonl"
    with service.client as client:
        client.chat(said, user_id=user, wait=True)
        file.write_text(service.command("export", user), encoding="utf-8")
        assert user in service.command("import", str(file), "--user", other)
        with file.open("rb") as lines:
            assert client.import_(lines, user_id=other, from_user_id=user).imported == {}
        _wait_until_indexed(client, other)
        replies = [client.chat(asked, user_id=owner) for owner in (other, user)]
    assert [reply.degraded for reply in replies] == [(), ()]
    assert resolved in replies[0].resolved_query
    assert answer in replies[0].reply
    assert _seen(replies[0]) == _seen(replies[1])


def _seen(reply: ChatReply) -> tuple[str, str]:
    return reply.resolved_query, reply.reply


def _wait_until_indexed(client: Client, user: str) -> None:
    end = time.monotonic() + 60
    while not client.search("AI-Box", user_id=user, kinds=["memory"]).results:
        assert time.monotonic() < end, "the import is not indexed"
        time.sleep(0.5)
