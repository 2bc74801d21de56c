"""Trained models in the running service: they answer, and a broken weight file is told and done without."""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator

import httpx
import pytest

from deployments.host.cluster import free_ports
from models.assets.weight_files import shipped_weight_file
from tests.e2e.conftest import Service

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def service_of_other_models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of its own, with a reranker, and with a tagger whose file has changed since its checksum was taken."""
    weights = tmp_path_factory.mktemp("weights")
    file = weights / "tagger.safetensors"
    file.write_bytes(b"what was tra1ned")
    file.with_suffix(".json").write_text(json.dumps({"sha256": hashlib.sha256(b"what was trained").hexdigest()}))
    for part in (shipped_weight_file("reranker"), shipped_weight_file("reranker").with_suffix(".json")):
        shutil.copy(part, weights)
    home = tmp_path_factory.mktemp("home")
    settings = {"JIYI_HOME": str(home), "JIYI_MODELS__WEIGHTS": str(weights), "JIYI_MODELS__RERANKER": "builtin"}
    environment = os.environ | settings
    started = Service(home, free_ports(1)[0], environment)
    started.up()
    yield started
    started.down()


def test_a_corrupt_weight_file_degrades_the_service_and_it_says_so(service_of_other_models: Service) -> None:
    service = service_of_other_models
    with service.client as client:
        assert client.is_ready()
        reply = client.chat("我們用 RM05-008 測試。", user_id="ann")
        assert [mention["text"] for mention in reply["mentions"]] == ["RM05-008"]
        assert "tagger" in reply["degraded"]
        health = client.health()
    extractor = health["parts"]["extractor"]
    assert (health["status"], health["not_ok"]) == ("degraded", ["extractor"])
    assert (extractor["status"], extractor["tagger_loaded"]) == ("degraded", 0)
    assert "tagger.safetensors is corrupt" in extractor["error"]
    metrics = httpx.get(f"http://127.0.0.1:{service.port}/metrics", timeout=30).text
    assert re.search(r'^jiyi_part\{figure="tagger_loaded",part="extractor",replica="\w+"\} 0.0$', metrics, re.MULTILINE)
    assert re.search(r'^jiyi_degraded_total\{part="tagger",replica="\w+"\} 1.0$', metrics, re.MULTILINE)


def test_a_reranker_that_is_switched_on_reads_the_best_hits_again(service_of_other_models: Service) -> None:
    with service_of_other_models.client as client:
        for text in ("We keep the coffee machine on the third floor.", "My sister plays the violin in Hamburg."):
            client.add([{"content": text}], user_id="reader")
        found = client.search("Where is the coffee machine?", user_id="reader", top_k=2)
        figures = client.health()["parts"]["reranker"]
    assert found["degraded"] == []
    assert "third floor" in found["results"][0]["text"]
    assert all({"fused", "rerank", "answers"} <= hit["parts"].keys() for hit in found["results"])
    assert figures["reranker_loaded"] == 1
    assert figures["reranker_failures"] == 0


@pytest.mark.skipif(not shipped_weight_file("tagger").exists(), reason="no tagger is shipped")
def test_the_trained_tagger_names_things(service: Service) -> None:
    with service.client as client:
        reply = client.chat("王小明下週從台北搬到高雄。", user_id="tagged")
        figures = client.health()["parts"]["extractor"]
    assert figures["tagger_loaded"] == 1
    assert figures["tagger_items"] >= 1
    assert figures["tagger_failures"] == 0
    assert reply["degraded"] == []
    sources = {mention["text"]: mention["source"] for mention in reply["mentions"]}
    assert sources["王小明"].startswith("tagger.")


@pytest.mark.skipif(not shipped_weight_file("rewriter").exists(), reason="no rewriter is shipped")
def test_the_trained_rewriter_reads_each_turn_with_what_came_before(service: Service) -> None:
    with service.client as client:
        client.chat("我昨天買了一台咖啡機。", user_id="rewritten")
        reply = client.chat("它多少錢？", user_id="rewritten")
        figures = client.health()["parts"]["resolver"]
    assert figures["rewriter_loaded"] == 1
    assert figures["rewriter_items"] >= 1
    assert figures["rewriter_failures"] == 0
    assert reply["degraded"] == []
    assert "咖啡機" in reply["resolved_query"]
