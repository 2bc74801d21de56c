"""A service that others can reach: it listens on every address, and asks for a credential."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
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

_EVERY_ADDRESS = "0.0.0.0"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, str]]:
    """The service, and an admin's key that was made before its first start."""
    home = tmp_path_factory.mktemp("home")
    settings = {"JIYI_HOME": str(home), "JIYI_AUTH__REQUIRED": "true", "JIYI_AUTH__KEY_CACHE_S": "1"}
    started = Service(home, free_ports(1)[0], os.environ | settings)
    key = json.loads(started.command("keys", "create", "operator", "--admin", "--json"))["secret"]
    started.environment["JIYI_API_KEY"] = key
    started.command("up", "--port", str(started.port), "--host", _EVERY_ADDRESS)
    yield started, key
    started.down()


def client(service: Service, key: str | None) -> Client:
    return Client(f"http://127.0.0.1:{service.port}", patience_s=60, api_key=key)


def test_the_api_alone_can_be_reached_from_elsewhere(guarded: tuple[Service, str]) -> None:
    service, _ = guarded
    reachable = [port for address, port in listening(service) if not ip_address(address).is_loopback]
    assert reachable == [service.port]


def test_nobody_is_answered_without_a_credential(guarded: tuple[Service, str]) -> None:
    service, _ = guarded
    base = f"http://127.0.0.1:{service.port}"
    for path in ("/chat", "/memories", "/index/rebuild", "/keys"):
        reply = httpx.post(base + path, json={"user_id": "ann", "message": "我的門禁密碼是 4711"})
        assert (reply.status_code, reply.headers["content-type"]) == (401, "application/problem+json")
    assert httpx.get(f"{base}/health/ready").status_code == 200


def test_a_key_of_a_user_reaches_that_user_s_memory_and_no_other(guarded: tuple[Service, str]) -> None:
    service, admin_key = guarded
    with client(service, admin_key) as admin:
        of_ann = admin.keys.create("ann's own", scope="user", user="ann")
        of_shop = admin.keys.create("shop", scope="app", app="shop").secret
    with client(service, of_ann.secret) as ann, client(service, of_shop) as shop:
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
    with client(service, admin_key) as admin:
        assert admin.operations.health().status == "ok"
        admin.keys.revoke(of_ann.key.key_id)
    time.sleep(1.5)
    with client(service, of_ann.secret) as ann, pytest.raises(Unauthenticated):
        ann.chat("在嗎？", user_id="ann")


def test_operators_acts_and_requests_are_written_down_without_what_was_said(guarded: tuple[Service, str]) -> None:
    service, admin_key = guarded
    logs = service.home / "logs"
    acts = [json.loads(line) for path in logs.glob("audit*.jsonl") for line in path.read_text().splitlines()]
    assert {"create_key", "revoke_key"} <= {act["act"] for act in acts}
    text = "".join(path.read_text() for path in logs.glob("*.jsonl"))
    assert '"route": "/chat"' in text
    assert admin_key not in text
    assert admin_key.rpartition("_")[2] not in text


def test_it_does_not_start_on_every_address_without_asking_for_credentials(tmp_path: Path) -> None:
    environment = os.environ | {"JIYI_HOME": str(tmp_path)}
    jiyi = str(Path(sys.executable).with_name("jiyi"))
    command = [jiyi, "up", "--port", str(free_ports(1)[0]), "--host", _EVERY_ADDRESS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "JIYI_AUTH__REQUIRED" in " ".join((done.stdout + done.stderr).split())
