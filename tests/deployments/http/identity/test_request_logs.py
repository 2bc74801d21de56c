"""The access log and the audit log: what a line says, and what it never does."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from deployments.http.support.services import Services
from deployments.telemetry.logs import configure_audit, configure_logs
from memory.values.access.identity import KeyScope
from memory.values.errors import StoreUnavailable
from tests.deployments.http.identity.conftest import Client


def _requests(lines: list[Any]) -> list[dict[str, Any]]:
    return [line for line in lines if line["event"] == "request"]


def _all_lines(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.glob("*.jsonl"))


async def test_one_line_a_request_with_key_route_status_and_time(client_of: Client, guarded: Services) -> None:
    ann = await client_of(KeyScope.USER, user="ann", app_id="shop")
    [key] = await guarded.authenticator.keys.list()
    with capture_logs() as lines:
        reply = await ann.get("/entities/Person-in-a-path", headers={"X-Request-Id": "abc-1"})
    assert reply.headers["x-request-id"] == "abc-1"
    [line] = _requests(lines)
    assert (line["method"], line["route"], line["status"]) == ("GET", "/entities/{entity_id}", 404)
    assert (line["credential"], line["app"]) == (key.key_id, "shop")
    assert line["ms"] > 0
    assert "Person" not in json.dumps(line)


async def test_refused_failed_and_unknown_requests_are_logged_too(
    anonymous: httpx.AsyncClient, client_of: Client, guarded: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = await client_of(KeyScope.ADMIN)

    async def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(guarded.index, "last_run", fail)
    with capture_logs() as lines:
        await anonymous.get("/entities")
        await admin.get("/nothing")
        with pytest.raises(RuntimeError):
            await admin.get("/index/status")
        await anonymous.get("/health/live")
    assert [(line["status"], line["log_level"]) for line in _requests(lines)] == [
        (401, "info"),
        (404, "info"),
        (500, "info"),
        (200, "debug"),
    ]


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, "<script>", "名"])
async def test_a_request_id_that_could_forge_a_line_is_replaced(http: httpx.AsyncClient, given: str) -> None:
    reply = await http.get("/health/live", headers={b"X-Request-Id": given.encode()})
    assert len(reply.headers["x-request-id"]) == 32


async def test_an_operator_s_act_is_written_with_its_outcome(
    client_of: Client, guarded: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = await client_of(KeyScope.ADMIN)
    [key] = await guarded.authenticator.keys.list()
    with capture_logs() as lines:
        await admin.post("/review/run", json={"user_id": "ann", "dry_run": True})
        made = (await admin.post("/keys", json={"name": "k", "scope": "app"})).json()
        await admin.delete(f"/keys/{made['key']['key_id']}")
        await admin.get("/keys")
        await admin.get("/health/detailed")

        async def fail(*_: Any, **__: Any) -> None:
            raise StoreUnavailable("gone", component="record")

        monkeypatch.setattr(guarded.index, "start", fail)
        await admin.post("/index/rebuild")
    acts = [line for line in lines if line["event"].startswith("operator_act")]
    assert [(line["act"], line["event"]) for line in acts] == [
        ("start_review", "operator_act"),
        ("create_key", "operator_act"),
        ("revoke_key", "operator_act"),
        ("rebuild", "operator_act_failed"),
    ]
    assert {line["credential"] for line in acts} == {key.key_id}
    assert acts[0]["given_user_id"] == "ann"
    assert acts[2]["key_id"] == made["key"]["key_id"]
    assert acts[3]["error"] == "gone"


@pytest.mark.parametrize(
    "content", [b"{", b"[" * 10, b"\xff", b"[1]", b'"x"', b'{"model": {"a": 1}, "token": "hidden"}']
)
async def test_whatever_is_sent_with_an_act_does_not_break_its_line(http: httpx.AsyncClient, content: bytes) -> None:
    with capture_logs() as lines:
        reply = await http.post("/index/rebuild", content=content, headers={"content-type": "application/json"})
    assert reply.status_code == 202, reply.text
    [act] = [line for line in lines if line["event"] == "operator_act"]
    assert "hidden" not in str(act)


async def test_a_refused_act_is_no_act_but_a_request(client_of: Client) -> None:
    app = await client_of(KeyScope.APP)
    with capture_logs() as lines:
        await app.post("/index/rebuild")
    assert [line["event"] for line in lines] == ["request"]


async def test_no_secret_is_in_any_log_reply_or_health(
    tmp_path: Path, client_of: Client, anonymous: httpx.AsyncClient
) -> None:
    configure_logs(tmp_path, "ingress", "debug")
    configure_audit(tmp_path)
    admin = await client_of(KeyScope.ADMIN)
    issued = (await admin.post("/keys", json={"name": "k", "scope": "user", "user": "ann"})).json()
    rotated = (await admin.post(f"/keys/{issued['key']['key_id']}/rotate", json={"overlap_s": 9})).json()
    secrets = [issued["secret"], rotated["secret"], admin.headers["authorization"].split()[1]]
    shown = []
    for secret in [*secrets, "jiyi_0123456789abcdef_guessed-secret"]:
        for headers in ({"Authorization": f"Bearer {secret}"}, {"X-API-Key": secret}, {"X-API-Key": f"{secret}x"}):
            for path in ("/entities", "/keys", "/health/detailed", "/metrics", f"/nothing/{secret[:5]}"):
                reply = await anonymous.get(path, headers=headers)
                shown.append(reply.text + str(reply.headers))
    logged = _all_lines(tmp_path)
    assert "operator_act" in logged
    assert '"event": "request"' in logged
    for secret in [*secrets, "jiyi_0123456789abcdef_guessed-secret"]:
        hidden = secret.split("_", 2)[2]
        assert hidden not in logged
        assert not [text for text in shown if hidden in text]


def test_the_audit_log_has_a_file_of_its_own_at_every_log_level(tmp_path: Path) -> None:
    from deployments.http.identity.operators import write_audit

    configure_logs(tmp_path, "ingress", "error")
    path = configure_audit(tmp_path)
    write_audit("rebuild", credential="k1")
    [line] = [json.loads(text) for text in path.read_text().splitlines()]
    assert (line["event"], line["act"], line["credential"]) == ("operator_act", "rebuild", "k1")
    [line] = [json.loads(text) for text in (tmp_path / "ingress.jsonl").read_text().splitlines()]
    assert (line["event"], line["process"]) == ("operator_act", "ingress")
