"""A service that others can reach: it listens on every address, and asks for a credential."""

import json
import os
import subprocess
import sys
import time
from ipaddress import ip_address
from pathlib import Path

import httpx
import pytest

from deployments.host.cluster import free_ports
from jiyi import Client
from jiyi.errors import Forbidden, Unauthenticated
from tests.e2e.conftest import Service
from tests.e2e.test_ports import listening

pytestmark = pytest.mark.e2e

_PATIENCE_S = 30


def client(service: Service, key: str) -> Client:
    """A client with a key of its own."""
    return Client(service.url, patience_s=60, api_key=key)


def test_the_api_alone_can_be_reached_from_elsewhere(configured: Service) -> None:
    reachable = [port for address, port in listening(configured) if not ip_address(address).is_loopback]
    assert reachable == [configured.port]


def test_nobody_is_answered_without_a_credential(configured: Service) -> None:
    for path in ("/chat", "/memories", "/index/rebuild", "/keys"):
        reply = httpx.post(configured.url + path, json={"user_id": "ann", "message": "我的門禁密碼是 4711"})
        assert (reply.status_code, reply.headers["content-type"]) == (401, "application/problem+json")
    assert httpx.get(f"{configured.url}/health/ready").status_code == 200


def test_a_key_of_a_user_reaches_that_user_s_memory_and_no_other(configured: Service) -> None:
    with configured.client as admin:
        of_ann = admin.keys.create("ann's own", scope="user", user="ann")
        of_shop = admin.keys.create("shop", scope="app", app="shop").secret
    with client(configured, of_ann.secret) as ann, client(configured, of_shop) as shop:
        ann.chat("請記住，我的停車位是 B2-17。", user_id="ann")
        assert "B2-17" in ann.chat("我的停車位是哪一個？", user_id="ann", session_id="later").reply
        with pytest.raises(Forbidden) as refused:
            ann.chat("他的停車位是哪一個？", user_id="bob")
        assert [wrong.field for wrong in refused.value.fields] == ["user_id"]
        with pytest.raises(Forbidden):
            ann.operations.health()
        same_name = shop.chat("我的停車位是哪一個？", user_id="ann")
        assert "B2-17" not in same_name.model_dump_json()
        assert "B2-17" not in shop.search("停車位", user_id="ann").model_dump_json()
    with configured.client as admin:
        assert admin.operations.health().status == "ok"
        admin.keys.revoke(of_ann.key.key_id)
    assert _is_refused_soon(client(configured, of_ann.secret))


def _is_refused_soon(client: Client) -> bool:
    """Whether what is cached of a key expires within seconds."""
    end = time.monotonic() + _PATIENCE_S
    with client:
        while time.monotonic() < end:
            try:
                client.chat("在嗎？", user_id="ann")
            except Unauthenticated:
                return True
            time.sleep(0.1)
    return False


def test_operators_acts_and_requests_are_written_down_without_what_was_said(configured: Service) -> None:
    admin_key = configured.api_key
    assert admin_key
    logs = configured.home / "logs"
    acts = [json.loads(line) for path in logs.glob("audit*.jsonl") for line in path.read_text().splitlines()]
    assert {"create_key", "revoke_key"} <= {act["act"] for act in acts}
    text = "".join(path.read_text() for path in logs.glob("*.jsonl"))
    assert '"route": "/chat"' in text
    assert admin_key not in text
    assert admin_key.rpartition("_")[2] not in text


def test_it_does_not_start_on_every_address_without_asking_for_credentials(tmp_path: Path) -> None:
    environment = os.environ | {"JIYI_HOME": str(tmp_path)}
    jiyi = str(Path(sys.executable).with_name("jiyi"))
    command = [jiyi, "up", "--port", str(free_ports(1)[0]), "--host", "0.0.0.0"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "JIYI_AUTH__REQUIRED" in " ".join((done.stdout + done.stderr).split())
