"""What Ray Serve's own switches do for this service, and what its models cost: each setting is a fresh start.

Theory: with user code on the replica's main loop a call saves two hand-overs between threads a hop, and with its router
on the same loop two more; a turn has some eight hops of about 1 ms each (SERVING §3). gRPC between deployments spares
the object store. HAProxy replaces the Python proxy, one hop of the eight. A second ingress replica pays where the first
one's thread is the bound, which on two cores nothing but the models is. The models cost a turn two forward passes.

    python -m benchmarks.serve_tuning --home FOLDER [--rounds 3] [--requests 60] [--seconds 8] [--settings NAME …]

Starts and ends a service in FOLDER for each setting in each round, the settings in turn, so that a busy machine
disturbs all alike: expected to take 80 s each on two idle cores, so half an hour for three rounds of all. Medians over
rounds; the last line is JSON.
"""

import argparse
import asyncio
import json
import os
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.common.workload import QUERIES
from benchmarks.load.http import HttpCaller
from benchmarks.load.loops import run_closed_loop
from deployments.config.settings import AppArgs
from jiyi import service


@dataclass(frozen=True)
class Setting:
    """What differs from the service as it is shipped.

    Attributes:
        variables: Of the environment of the cluster and its drivers.
        arguments: Of `deployments.config.settings.AppArgs`.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)


_AS_SERVE_COMES = {"RAY_SERVE_THROUGHPUT_OPTIMIZED": "0", "RAY_SERVE_ENABLE_HA_PROXY": "0"}
_ONE_LOOP = {"RAY_SERVE_RUN_USER_CODE_IN_SEPARATE_THREAD": "0", "RAY_SERVE_RUN_ROUTER_IN_SEPARATE_LOOP": "0"}
_GRPC = {"RAY_SERVE_USE_GRPC_BY_DEFAULT": "1", "RAY_SERVE_PROXY_USE_GRPC": "1"}
SETTINGS = {
    "as shipped": Setting(),
    "as Serve comes": Setting(_AS_SERVE_COMES),
    "one loop per replica": Setting(_AS_SERVE_COMES | _ONE_LOOP),
    "gRPC": Setting(_AS_SERVE_COMES | _GRPC),
    "throughput mode": Setting({"RAY_SERVE_ENABLE_HA_PROXY": "0"} | _GRPC),
    "HAProxy": Setting({"RAY_SERVE_THROUGHPUT_OPTIMIZED": "0"}),
    "two ingress replicas": Setting(arguments={"ingress_replicas": 2}),
    "without models": Setting(arguments={"models": {"reader": "off"}}),
}
_HISTORY = [{"content": "我們公司上個月買了 AI-Box。"}, {"role": "assistant", "content": "了解。"}]
_WARM_UP = 8
_TIMEOUT_S = 60.0
_OFTEN = 8


def main() -> None:
    """Measures the settings, prints a table and one JSON line."""
    arguments = _arguments()
    console = Console()
    figures: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    broken: dict[str, str] = {}
    for number in range(arguments.rounds):
        for name in arguments.settings or SETTINGS:
            if name in broken:
                continue
            console.print(f"round {number + 1}: {name}")
            try:
                measured = _measure(SETTINGS[name], arguments)
            except service.ServiceFailed as error:
                broken[name] = str(error)
                console.print(f"does not start: {error}")
                continue
            for figure, value in measured.items():
                figures[name][figure].append(value)
    medians = {
        name: {figure: round(statistics.median(values), 1) for figure, values in measured.items()}
        for name, measured in figures.items()
    }
    _show(console, medians)
    result = {"benchmark": "serve_tuning", "rounds": arguments.rounds, "settings": medians, "did_not_start": [*broken]}
    print(json.dumps(result))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Ray Serve's switches and the models, on and off.")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--port", type=int, default=8126)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=60, help="of each kind, by one caller")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each kind, by eight callers")
    parser.add_argument("--settings", nargs="*", choices=SETTINGS, metavar="NAME")
    return parser.parse_args()


def _measure(setting: Setting, arguments: argparse.Namespace) -> dict[str, float]:
    """One fresh start: latencies of one caller, requests a second of eight."""
    settings = AppArgs.model_validate({"home": arguments.home} | dict(setting.arguments))
    service.prepare(settings)
    with _environment(setting.variables):
        endpoint = service.start(settings, host="127.0.0.1", port=arguments.port, timeout_s=300, on_wait=lambda _: None)
        try:
            return asyncio.run(_figures(endpoint.url, arguments))
        finally:
            service.stop(settings, timeout_s=180)


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Sets variables for what is started meanwhile."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


async def _figures(url: str, arguments: argparse.Namespace) -> dict[str, float]:
    bodies: dict[str, list[dict[str, Any]]] = {
        "/resolve": [{"user_id": "u", "query": query, "history": _HISTORY} for query in QUERIES],
        "/v1/embeddings": [{"input": query, "encoding_format": "base64"} for query in QUERIES],
        "/chat": [
            {"user_id": f"u{number}", "session_id": "s", "message": message}
            for number in range(_OFTEN)
            for message in QUERIES
        ],
    }
    figures: dict[str, float] = {}
    async with HttpCaller(url) as http:
        for path, of_path in bodies.items():
            encoded = [json.dumps(body).encode() for body in of_path]

            async def send(index: int, path: str = path, encoded: list[bytes] = encoded) -> str:
                return await http.send("POST", path, encoded[index % len(encoded)])

            await run_closed_loop(send, callers=1, requests=_WARM_UP, timeout_s=_TIMEOUT_S)
            alone = await run_closed_loop(send, callers=1, requests=arguments.requests, timeout_s=_TIMEOUT_S)
            many = await run_closed_loop(send, callers=_OFTEN, seconds=arguments.seconds, timeout_s=_TIMEOUT_S)
            summary = alone.summary()
            figures |= {
                f"{path} p50 ms": summary.p50_ms,
                f"{path} p95 ms": summary.p95_ms,
                f"{path} a second, {_OFTEN} callers": many.summary().completed_per_s,
                f"{path} failed": summary.failed + many.summary().failed,
            }
    return figures


def _show(console: Console, medians: Mapping[str, Mapping[str, float]]) -> None:
    table = Table(title="Ray Serve's switches", title_justify="left")
    table.add_column("setting")
    columns = next(iter(medians.values()), {})
    for column in columns:
        table.add_column(column, justify="right")
    for name, measured in medians.items():
        table.add_row(name, *(str(measured[column]) for column in columns))
    console.print(table)


if __name__ == "__main__":
    main()
