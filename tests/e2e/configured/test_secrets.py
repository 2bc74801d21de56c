"""A running service with a secret in every setting that takes one: none is in logs, replies, processes or Ray."""

import json
import subprocess
import sys
from collections.abc import Mapping

import psutil
import pytest
from redis import Redis

from deployments.host.cluster import ray_environment, running_address
from deployments.host.runtime_folder import runtime_folder, token_path
from tests.e2e.conftest import Service

pytestmark = pytest.mark.e2e

_KNOWN_TO_RAY = """
import json, sys
import ray
from ray._private import state
from ray.experimental.internal_kv import _internal_kv_get, _internal_kv_list
from ray.serve.context import _get_global_client

ray.init(address=sys.argv[1], log_to_driver=False)
lines = sys.stdout
print(state.jobs(), state.actors(), state.node_ids())
print(ray.get(_get_global_client()._controller.get_serve_instance_details.remote()))
namespaces = [None, b"serve", b"job", b"fun", b"session", b"runtime_env", b"tracing", b"dashboard"]
keys = 0
for namespace in namespaces:
    for key in _internal_kv_list(b"", namespace=namespace):
        keys += 1
        print(namespace, key, _internal_kv_get(key, namespace=namespace))
print("keys:", keys)
"""


@pytest.fixture(scope="module")
def hidden(configured: Service, secrets: Mapping[str, str], redis_password: str) -> list[bytes]:
    """What must be nowhere: the secrets' distinctive parts, and the cluster's token."""
    values = [value for name, value in secrets.items() if name != "redis_url"]
    return [value.encode() for value in (*values, redis_password, token_path(configured.home).read_text())]


def _found(hidden: list[bytes], shown: Mapping[str, bytes]) -> list[str]:
    return [place for place, content in shown.items() if any(secret in content for secret in hidden)]


def test_no_process_has_one_in_its_command_line_or_environment(configured: Service, hidden: list[bytes]) -> None:
    shown = {}
    for process in configured.processes():
        found = psutil.Process(process.pid)
        shown[process.name] = json.dumps([found.cmdline(), found.environ()]).encode()
    assert len(shown) > 8
    assert _found(hidden, shown) == []


def test_no_reply_and_no_output_has_one(
    configured: Service, hidden: list[bytes], redis: Redis, redis_password: str
) -> None:
    shown = {" ".join(words): configured.command(*words).encode() for words in (["config", "--json"], ["config"])}
    chat = {"user_id": "ann", "session_id": "s", "message": "我的印表機在三樓"}

    def ask(state: str) -> None:
        with configured.http() as http:
            for path in ("/health/detailed", "/health/ready", "/metrics", "/openapi.json", "/nothing", "/entities"):
                reply = http.get(path)
                shown[f"{state} {path} {reply.status_code}"] = reply.content + str(reply.headers).encode()
            for body in (chat, {"message": 3}, ["distinctive"]):
                reply = http.post("/chat", json=body)
                shown[f"{state} /chat {reply.status_code}"] = reply.content + str(reply.headers).encode()

    ask("whole")
    redis.config_set("requirepass", "distinctive-other")
    redis.client_kill_filter(_type="normal", skipme=True)
    try:
        ask("refused")
    finally:
        redis.config_set("requirepass", redis_password)
    assert {"whole /chat 200", "refused /chat 200", "refused /chat 422"} <= shown.keys()
    assert _found([*hidden, b"distinctive-other"], shown) == []


def test_ray_knows_none(configured: Service, hidden: list[bytes]) -> None:
    environment = configured.environment | ray_environment(configured.home)
    environment |= {"RAY_SERVE_RUN_ROUTER_IN_SEPARATE_LOOP": "1"}
    command = [sys.executable, "-c", _KNOWN_TO_RAY, running_address(configured.home)]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert b"deployment-state-checkpoint" in done.stdout
    assert str(configured.home).encode() in done.stdout  # what deployments are made with
    assert _found(hidden, {"state": done.stdout, "errors": done.stderr}) == []


def test_no_log_and_no_other_file_has_one(configured: Service, hidden: list[bytes]) -> None:
    """After the others: what they made the service say is in the logs."""
    own = token_path(configured.home)
    folders = (configured.home, runtime_folder(configured.home))
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file() and path != own]
    shown = {str(path): path.read_bytes() for path in files if not path.is_symlink()}
    assert any(place.endswith("ingress.jsonl") and b"password" in content for place, content in shown.items())
    assert any("/logs/serve/" in place for place in shown)
    assert _found(hidden, shown) == []
