"""The trace of a request in the logs of every process that works for it, on real Ray."""

import json
import time
from typing import Any

import httpx
import psutil
import pytest

from tests.e2e.conftest import Service

pytestmark = pytest.mark.e2e

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def lines_of_trace(service: Service) -> list[dict[str, Any]]:
    """What all processes logged about the trace."""
    lines = (line for file in (service.home / "logs").glob("*.jsonl") for line in file.read_text().splitlines())
    return [found for found in map(json.loads, lines) if found.get("trace_id") == TRACE]


def test_a_trace_crosses_processes(service: Service) -> None:
    """A search that its index does not answer: the Retriever logs it, two calls away from the client."""
    shards = [psutil.Process(process.pid) for process in service.processes() if "VectorShard" in process.name]
    assert shards
    for shard in shards:
        shard.suspend()
    try:
        reply = httpx.post(
            f"http://127.0.0.1:{service.port}/search",
            json={"user_id": "traced", "query": "印表機在哪裡"},
            headers={"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"},
            timeout=60,
        )
    finally:
        for shard in shards:
            shard.resume()
    _, trace, span, _ = reply.headers["traceparent"].split("-")
    assert trace == TRACE
    end = time.monotonic() + 30
    while not (found := [line for line in lines_of_trace(service) if line["process"] == "retriever"]):
        assert time.monotonic() < end, lines_of_trace(service)
        time.sleep(0.2)
    assert {line["span_id"] for line in found} == {span}
    service.wait_until_whole()
