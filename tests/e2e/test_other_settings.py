"""A service with other settings: a weight file is corrupt, the reranker is on, the Embedder may scale.

A corrupt file degrades the service and is told; only the Embedder scales, and nobody is refused; a new configuration
replaces the old one unnoticed.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from deployments.host.cluster import free_ports, ray_environment, running_address
from models.assets.weight_files import shipped_weight_file
from tests.e2e.conftest import Service

pytestmark = pytest.mark.e2e

_EMBEDDER = "Embedder"
_PATIENCE_S = 150
_FLOOD = {"input": ["記憶是什麼？ What is memory? " * 8] * 48, "encoding_format": "base64", "input_type": "passage"}
_SETTINGS = {
    "JIYI_EMBEDDER__THREADS": "1",  # so that a machine of two cores holds two replicas
    "JIYI_EMBEDDER__MAX_REPLICAS": "2",
    "JIYI_EMBEDDER__TARGET_WAIT_S": "0.5",
    "JIYI_EMBEDDER__DOWNSCALE_DELAY_S": "3",
    "JIYI_MODELS__RERANKER": "builtin",
}


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of its own, whose folder of weights has a reader that its checksum does not fit."""
    weights = tmp_path_factory.mktemp("weights")
    file = weights / "reader.safetensors"
    file.write_bytes(b"what was tra1ned")
    file.with_suffix(".json").write_text(json.dumps({"sha256": hashlib.sha256(b"what was trained").hexdigest()}))
    for part in (shipped_weight_file("reranker"), shipped_weight_file("reranker").with_suffix(".json")):
        shutil.copy(part, weights)
    home = tmp_path_factory.mktemp("home")
    settings = _SETTINGS | {"JIYI_HOME": str(home), "JIYI_MODELS__WEIGHTS": str(weights)}
    started = Service(home, free_ports(1)[0], os.environ | settings)
    started.up()
    yield started
    started.down()


@contextmanager
def watched(service: Service) -> Iterator[list[dict[str, Any]]]:
    """What Serve wants and has of each deployment, line by line, as long as this lasts."""
    command = [sys.executable, "-m", "deployments.host.watch", str(service.home), "--every", "0.3"]
    with subprocess.Popen(
        command, env=service.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        seen = [json.loads(process.stdout.readline())["replicas"]]
        reading = threading.Thread(
            target=lambda: seen.extend(json.loads(line)["replicas"] for line in process.stdout or ())
        )
        reading.start()
        yield seen
        process.terminate()
        reading.join()


@contextmanager
def asking(
    service: Service, path: str, body: dict[str, Any], *, callers: int = 1, pause_s: float = 0.5
) -> Iterator[list[httpx.Response]]:
    """Callers that ask again and again as long as this lasts; each is answered before it ends."""
    enough = threading.Event()
    replies: list[httpx.Response] = []

    def ask() -> None:
        with httpx.Client(base_url=f"http://127.0.0.1:{service.port}", timeout=_PATIENCE_S) as http:
            while not enough.is_set():
                replies.append(http.post(path, json=body))
                enough.wait(pause_s)

    threads = [threading.Thread(target=ask) for _ in range(callers)]
    for thread in threads:
        thread.start()
    yield replies
    enough.set()
    for thread in threads:
        thread.join()


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.1)


def chatting(service: Service) -> Any:
    return asking(service, "/chat", {"user_id": "ann", "session_id": "s", "message": "它放在哪裡？"})


def test_a_corrupt_weight_file_degrades_the_service_and_it_says_so(tuned: Service) -> None:
    with tuned.client as client:
        assert client.is_ready()
        reply = client.chat("我們用 RM05-008 測試。", user_id="ann")
        assert [mention.text for mention in reply.mentions] == ["RM05-008"]
        assert "reader" in reply.degraded
        assert (reply.intents, reply.action) == ((), "keep")
        health = client.operations.health()
    extractor = health.parts["extractor"]
    assert (health.status, health.not_ok) == ("degraded", ["extractor"])
    assert (extractor["status"], extractor["reader_loaded"]) == ("degraded", 0)
    assert "reader.safetensors is corrupt" in extractor["error"]
    metrics = httpx.get(f"http://127.0.0.1:{tuned.port}/metrics", timeout=30).text
    assert re.search(r'^jiyi_part\{figure="reader_loaded",part="extractor",replica="\w+"\} 0.0$', metrics, re.MULTILINE)
    assert re.search(r'^jiyi_degraded_total\{part="reader",replica="\w+"\} 1.0$', metrics, re.MULTILINE)


def test_a_reranker_that_is_switched_on_reads_the_best_hits_again(tuned: Service) -> None:
    with tuned.client as client:
        texts = {
            "kitchen": "We keep the coffee machine on the third floor.",
            "family": "My sister plays the violin in Hamburg.",
        }
        for session, text in texts.items():  # of one session, the first would be the context of the second
            client.add([{"content": text}], user_id="reader", session_id=session)
        found = client.search("Where is the coffee machine?", user_id="reader", top_k=2)
        figures = client.operations.health().parts["reranker"]
    assert found.degraded == ()
    assert "third floor" in found.results[0].text
    assert all({"fused", "rerank", "relevance"} <= hit.parts.keys() for hit in found.results)
    assert figures["reranker_loaded"] == 1
    assert figures["reranker_failures"] == 0


def test_a_flood_of_embeddings_raises_the_embedder_alone_and_loses_no_request(tuned: Service) -> None:
    with watched(tuned) as seen, chatting(tuned) as chats:
        with asking(tuned, "/v1/embeddings", _FLOOD, callers=4, pause_s=0) as flood:
            until(lambda: seen[-1][_EMBEDDER] == {"target": 2, "running": 2})
        few = {"input": ["記憶", "memory"], "encoding_format": "base64"}
        with asking(tuned, "/v1/embeddings", few) as afterwards:
            until(lambda: seen[-1][_EMBEDDER] == {"target": 1, "running": 1})
    others = {counts["target"] for replicas in seen for name, counts in replicas.items() if name != _EMBEDDER}
    assert others == {1}
    for replies in (chats, flood, afterwards):
        assert replies
        assert {reply.status_code for reply in replies} == {200}
    assert all(len(reply.json()["data"]) == len(_FLOOD["input"]) for reply in flood)


def test_a_new_configuration_replaces_every_replica_and_no_request_fails(tuned: Service) -> None:
    def replicas() -> set[int]:
        return {process.pid for process in tuned.processes() if process.name.startswith("ServeReplica")}

    before = replicas()
    few = {"input": ["記憶", "memory"], "encoding_format": "base64"}
    with chatting(tuned) as chats, asking(tuned, "/v1/embeddings", few) as embeddings:
        deploy_again(tuned, confidence_floor=0.45)
        until(lambda: not before & replicas())
    for replies in (chats, embeddings):
        assert {reply.status_code for reply in replies} == {200}
    with tuned.client as client:
        until(client.is_ready)


def deploy_again(service: Service, **changed: Any) -> None:
    """What `serve deploy` does with a changed file."""
    code = "import json; from deployments.config.settings import AppArgs; print(json.dumps(AppArgs().to_send()))"
    printed = subprocess.run(
        [sys.executable, "-c", code], env=service.environment, capture_output=True, text=True, check=True
    )
    sent = json.loads(printed.stdout)
    sent["settings"] |= changed
    request = {
        "args": sent,
        "address": running_address(Path(service.home)),
        "host": "127.0.0.1",
        "port": service.port,
    }
    done = subprocess.run(
        [sys.executable, "-m", "deployments.host.deploy", "up"],
        env=service.environment | ray_environment(service.home),
        input=json.dumps(request),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
