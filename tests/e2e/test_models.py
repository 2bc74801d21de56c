"""Trained models in the running service: they answer, and a broken weight file is told and done without."""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from deployments.cluster import free_ports
from models.shipped_weights import weight_file

from .conftest import Service

pytestmark = pytest.mark.e2e


@pytest.fixture
def service_with_corrupt_weights(tmp_path: Path) -> Iterator[Service]:
    """A service of its own, whose tagger's file has changed since its checksum was taken."""
    weights = tmp_path / "weights"
    weights.mkdir()
    file = weights / "tagger.safetensors"
    file.write_bytes(b"what was tra1ned")
    file.with_suffix(".json").write_text(json.dumps({"sha256": hashlib.sha256(b"what was trained").hexdigest()}))
    home = tmp_path / "home"
    environment = os.environ | {"JIYI_HOME": str(home), "JIYI_MODELS__WEIGHTS": str(weights)}
    started = Service(home, free_ports(1)[0], environment)
    started.up()
    yield started
    started.down()


def test_a_corrupt_weight_file_degrades_the_service_and_it_says_so(service_with_corrupt_weights: Service) -> None:
    service = service_with_corrupt_weights
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
    assert 'jiyi_part{figure="tagger_loaded",part="extractor"} 0.0' in metrics
    assert 'jiyi_degraded_total{part="tagger"} 1.0' in metrics


@pytest.mark.skipif(not weight_file("tagger").exists(), reason="no tagger is shipped")
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


@pytest.mark.skipif(not weight_file("rewriter").exists(), reason="no rewriter is shipped")
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
