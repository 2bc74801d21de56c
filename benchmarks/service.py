"""The service over HTTP against the raw encoder in this process, at equal threads.

Theory: a chat turn needs one query encode; everything else (four hops between processes, keyword and exact search, two
log entries on disk) should cost a few milliseconds a hop, so `/chat` is predicted at 2 to 3 raw encodes, `/resolve` at
well under one (it encodes only when a ranking is close), and one query through `/v1/embeddings` at 1.3. Bulk
embedding is bound by the same matrix products in both cases; HTTP and the hops use cores that torch wants, so 0.9 of
the raw rate is the aim.

    python -m benchmarks.service --url http://127.0.0.1:8000 [--threads 2] [--requests 60] [--texts 512] [--rounds 3]

Rounds alternate between the raw encoder and the service, so that a busy machine disturbs both alike. The encoder that
does not work sleeps. Medians; the last line is JSON.
"""

import argparse
import base64
import itertools
import json
import os
import statistics
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.common.workload import QUERIES, ceiling_tokens_per_s, matmul_flops, mixed_texts, seconds
from deployments.config.settings import AppArgs
from memory.ports.models.language import TextKind
from models.assets.catalog import DEFAULT_MODEL, get_model
from models.assets.prepare import prepare_model
from models.encoder.sentence_transformer_engine import SentenceTransformerEngine

_HISTORY = [{"content": "我們公司上個月買了 AI-Box。"}, {"role": "assistant", "content": "了解。"}]
_TEXTS_A_CALL = 64
_CALLS_AT_ONCE = 4


def main() -> None:
    """Runs the benchmark and prints two tables and one JSON line."""
    arguments = _arguments()
    console = Console()
    http = httpx.Client(base_url=arguments.url, timeout=120)
    with console.status("loading"):
        folder = prepare_model(DEFAULT_MODEL, AppArgs().model_cache)
        engine = SentenceTransformerEngine(get_model(DEFAULT_MODEL), folder, threads=arguments.threads)
    latency = _latency(http, engine, arguments.requests)
    bulk = _throughput(http, engine, arguments.texts, arguments.rounds)
    result = {"benchmark": "service", "threads": arguments.threads, "cores": os.cpu_count()} | latency | bulk
    _show(console, result)
    print(json.dumps(result))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The service over HTTP against the raw encoder.")
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--requests", type=int, default=60)
    parser.add_argument("--texts", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def _latency(http: httpx.Client, engine: SentenceTransformerEngine, requests: int) -> dict[str, Any]:
    """One caller, one request at a time, the kinds in turn."""
    user, queries = f"bench-{uuid.uuid4()}", itertools.cycle(QUERIES)
    calls: dict[str, Callable[[], Any]] = {
        "raw encode": lambda: engine.encode([next(queries)], TextKind.QUERY),
        "/v1/embeddings": lambda: _post(http, "/v1/embeddings", input=next(queries), encoding_format="base64"),
        "/resolve": lambda: _post(http, "/resolve", user_id=user, query=next(queries), history=_HISTORY),
        "/chat": lambda: _post(http, "/chat", user_id=user, session_id="s", message=next(queries)),
    }
    for text in mixed_texts(64):
        _post(http, "/memories", user_id=user, text=text, wait=False)
    _post(http, "/memories", user_id=user, text="最後一則")
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in track(range(requests + 5), description="latency"):
        for name, call in calls.items():
            took = seconds(call)
            if number >= 5:
                times[name].append(took)
            if name == "/chat":
                time.sleep(0.15)  # what was said is learned in the background; latency is measured on a quiet service
    raw = statistics.median(times["raw encode"])
    return {
        "latency_ms": {
            name: {"p50": round(1e3 * statistics.median(values), 1), "p95": round(1e3 * _p95(values), 1)}
            for name, values in times.items()
        },
        "times_raw": {
            name: {"p50": round(statistics.median(values) / raw, 2), "p95": round(_p95(values) / raw, 2)}
            for name, values in times.items()
        },
    }


def _throughput(http: httpx.Client, engine: SentenceTransformerEngine, count: int, rounds: int) -> dict[str, Any]:
    texts = mixed_texts(count)
    calls = [texts[start : start + _TEXTS_A_CALL] for start in range(0, count, _TEXTS_A_CALL)]
    lengths = [text.token_count for text in engine.prepare(texts, TextKind.PASSAGE)]

    def through_http() -> np.ndarray[Any, Any]:
        with ThreadPoolExecutor(_CALLS_AT_ONCE) as callers:
            return np.concatenate(list(callers.map(lambda call: _embed(http, call), calls)))

    raw_s, http_s, flops = [], [], []
    for number in track(range(rounds + 1), description="throughput"):
        flops.append(matmul_flops())
        raw_took = seconds(lambda: engine.encode(texts, TextKind.PASSAGE))
        http_took = seconds(through_http)
        if number:  # the first round warms up
            raw_s.append(raw_took)
            http_s.append(http_took)
    agreement = np.sum(through_http() * engine.encode(texts, TextKind.PASSAGE), axis=1)
    assert agreement.min() > 0.999, "the service and the raw encoder disagree"
    ceiling = ceiling_tokens_per_s(statistics.median(flops[1:]), statistics.mean(lengths))
    return {
        "texts": count,
        "mean_tokens": round(statistics.mean(lengths), 1),
        "raw_embeddings_per_s": round(count / statistics.median(raw_s), 1),
        "http_embeddings_per_s": round(count / statistics.median(http_s), 1),
        "http_over_raw": round(statistics.median(r / h for r, h in zip(raw_s, http_s, strict=True)), 3),
        "ceiling_embeddings_per_s": round(ceiling / statistics.mean(lengths), 1),
    }


def _embed(http: httpx.Client, texts: list[str]) -> np.ndarray[Any, Any]:
    reply = _post(http, "/v1/embeddings", input=texts, encoding_format="base64", input_type="passage")
    return np.stack([np.frombuffer(base64.b64decode(item["embedding"]), "<f4") for item in reply["data"]])


def _post(http: httpx.Client, path: str, **body: Any) -> Any:
    return http.post(path, json=body).raise_for_status().json()


def _p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def _show(console: Console, result: dict[str, Any]) -> None:
    table = Table(title=f"One caller, {result['threads']} torch threads, {result['cores']} cores", title_justify="left")
    for column in ("", "p50 ms", "p95 ms", "p50 × raw", "p95 × raw"):
        table.add_column(column, justify="right" if column else "left")
    for name, values in result["latency_ms"].items():
        times = result["times_raw"][name]
        table.add_row(name, *(str(value) for value in (values["p50"], values["p95"], times["p50"], times["p95"])))
    console.print(table)
    bulk = Table(title=f"{result['texts']} texts, {result['mean_tokens']} tokens on average", title_justify="left")
    for column in ("", "embeddings/s", "of raw"):
        bulk.add_column(column, justify="right" if column else "left")
    bulk.add_row("raw, in process", str(result["raw_embeddings_per_s"]), "1.00")
    bulk.add_row("through HTTP", str(result["http_embeddings_per_s"]), f"{result['http_over_raw']:.2f}")
    share = result["ceiling_embeddings_per_s"] / result["raw_embeddings_per_s"]
    bulk.add_row("ceiling: matrix products alone", str(result["ceiling_embeddings_per_s"]), f"{share:.2f}")
    console.print(bulk)


if __name__ == "__main__":
    main()
