"""How many replicas, cores and GPUs so many users need, from what one measured request costs.

The model. A request of a scenario costs D(d) CPU seconds in deployment d, what is learned behind the reply included:
CPU seconds of a measured stage, less what the service spends at rest, over its requests. At a rate λ, deployment d
keeps λ·D(d) cores busy. So it needs ⌈λ·D(d) / (ρ·c(d))⌉ replicas, where ρ is the target utilisation and c(d) how many
cores one replica can use: its torch threads where a model computes, one elsewhere (an event loop). The machine needs
(rest + λ·ΣD) / ρ cores and saturates at λ* = (cores - rest) / ΣD, or earlier where one deployment's replicas do.

Waiting is that of an M/M/c queue whose c servers are the cores and whose service time is ΣD (Erlang C: the share that
waits C, P(wait > t) = C·exp(-(c - a)·t/S) with a = λ·S). The 95th percentile at a rate is that of the measured stage
plus the difference of the two waits: an estimate, since percentiles do not add, batching makes service faster under
load, and learning steps behind people.

With a GPU the Embedder leaves the cores: GPUs = ⌈λ·tokens / (ρ·tokens a second)⌉. Its speed has to be measured there.

    python -m benchmarks.load.capacity DIR/load.json --users 1000 [--per-minute 6] [--target 0.7]
        [--gpu-tokens-per-s 500000] [--check]

`--check` takes the costs from the lowest open stage and predicts the others: capacity, cores busy, 95th percentile. The
generator and strangers on the machine are counted as cores that are not there. The last line is JSON.
"""

import argparse
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.load.report import wide_console
from benchmarks.load.service_meter import OTHER
from benchmarks.load.stages import CLOSED

EMBEDDER = "Embedder"
_COMPUTING = ("Extractor", "Resolver", "Reranker")
"""Deployments in which a trained model computes, on half of the cores
(`deployments.config.settings.ModelArgs.threads`)."""
_TAIL = 0.05

Figures = dict[str, Any]


@dataclass(frozen=True)
class CostModel:
    """What a request costs, from one measured stage.

    Attributes:
        demand_s: CPU seconds of one request, by deployment.
        rest_cores: Cores that the service keeps busy while nobody asks.
        tokens: That the Embedder reads for one request.
        base_per_s: The rate of the stage.
        base_p95_s: Its 95th percentile.
        cores: Of the machine on which it was measured.
    """

    demand_s: Mapping[str, float]
    rest_cores: float
    tokens: float
    base_per_s: float
    base_p95_s: float
    cores: float

    @property
    def total_s(self) -> float:
        """CPU seconds of one request in all deployments."""
        return sum(self.demand_s.values())

    def busy_cores(self, per_s: float) -> float:
        """Cores that the service keeps busy at a rate."""
        return self.rest_cores + per_s * self.total_s

    def saturation_per_s(self, available_cores: float) -> float:
        """The rate above which work piles up, with one replica of each deployment on so many cores."""
        rates = [(available_cores - self.rest_cores) / self.total_s]
        rates += [self.cores_each(name) / demand for name, demand in self.demand_s.items() if demand > 0]
        return min(rates)

    def cores_each(self, name: str) -> float:
        """The number of cores that one replica can use."""
        if name in (EMBEDDER, OTHER):
            return self.cores
        return max(1.0, self.cores // 2) if name in _COMPUTING else 1.0

    def p95_s(self, per_s: float, available_cores: float) -> float:
        """The estimated 95th percentile at a rate; infinite where work piles up."""
        cores = available_cores - self.rest_cores
        wait_s = wait_percentile_s(per_s, self.total_s, cores) - wait_percentile_s(self.base_per_s, self.total_s, cores)
        return max(self.base_p95_s, self.base_p95_s + wait_s) if math.isfinite(wait_s) else math.inf


def cost_model(report: Figures, stage: Figures) -> CostModel:
    """The costs that a stage of a report shows.

    Raises:
        ValueError: The report was made without the service's home, so CPU seconds are not known.
    """
    rest, spent = report["rest"], stage["spent"]
    if not spent["cpu_s"]:
        raise ValueError("the report knows no CPU seconds: run benchmarks.load with --home")
    rest_cores = {name: cpu_s / rest["seconds"] for name, cpu_s in rest["cpu_s"].items()}
    demand = {
        name: max(0.0, cpu_s - rest_cores.get(name, 0.0) * spent["seconds"]) / stage["requests"]
        for name, cpu_s in spent["cpu_s"].items()
    }
    return CostModel(
        demand_s=demand,
        rest_cores=sum(rest_cores.values()),
        tokens=spent["tokens"] / stage["requests"],
        base_per_s=stage["offered_per_s"],
        base_p95_s=stage["p95_ms"] / 1e3,
        cores=report["cores"],
    )


def erlang_c(servers: int, load: float) -> float:
    """The share of requests that wait in an M/M/c queue.

    Args:
        servers: c.
        load: Offered load in servers, a = λ·S; below c.
    """
    blocked = 1.0
    for number in range(1, servers + 1):  # Erlang B, by its recursion
        blocked = load * blocked / (number + load * blocked)
    return blocked / (1 - load / servers * (1 - blocked))


def wait_percentile_s(per_s: float, service_s: float, cores: float, tail: float = _TAIL) -> float:
    """The wait that a share `tail` of requests exceeds, in an M/M/c queue; infinite where it grows without end.

    Cores need not be a whole number: below one server the service is slower, above it c is rounded down and each of the
    c servers is faster by what was cut off.
    """
    if cores <= 0:
        return math.inf
    servers = max(1, math.floor(cores))
    service_s *= servers / cores
    load = per_s * service_s
    if load >= servers:
        return math.inf
    waiting = erlang_c(servers, load)
    return max(0.0, math.log(waiting / tail) * service_s / (servers - load)) if waiting > 0 else 0.0


def plan(
    model: CostModel, *, users: float, per_minute: float, target: float, gpu_tokens_per_s: float | None = None
) -> Figures:
    """What so many users need.

    Args:
        model: What a request costs.
        users: At work at the same time.
        per_minute: Requests of each.
        target: Utilisation not to be exceeded, in (0, 1).
        gpu_tokens_per_s: Speed of the Embedder on one GPU, measured; None: it runs on the cores.
    """
    per_s = users * per_minute / 60
    on_cores = {name: demand for name, demand in model.demand_s.items() if not (gpu_tokens_per_s and name == EMBEDDER)}
    busy = {name: per_s * demand for name, demand in on_cores.items()}
    replicas = {
        name: max(1, math.ceil(cores / (target * model.cores_each(name))))
        for name, cores in busy.items()
        if name != OTHER
    }
    needed: Figures = {
        "requests_per_s": round(per_s, 3),
        "busy_cores": {name: round(cores, 3) for name, cores in busy.items()},
        "replicas": replicas,
        "cores": math.ceil((model.rest_cores + sum(busy.values())) / target),
        "tokens_per_s": round(per_s * model.tokens, 1),
        "gpus": math.ceil(per_s * model.tokens / (target * gpu_tokens_per_s)) if gpu_tokens_per_s else 0,
    }
    on_those = CostModel(**asdict(model) | {"demand_s": on_cores})
    estimate_s = on_those.p95_s(per_s, needed["cores"])
    return needed | {"p95_ms": round(estimate_s * 1e3, 1)}


def check(report: Figures) -> list[Figures]:
    """Predicts the other stages from the lowest open one; `error` is (predicted - measured) / measured."""
    stages = {stage["label"]: stage for stage in report["stages"]}
    closed = stages.pop(CLOSED)
    base, *others = stages.values()
    model = cost_model(report, base)
    saturation = model.saturation_per_s(model.cores - _taken(closed))
    lines = [_compared("capacity, requests/s", CLOSED, saturation, closed["sustained_per_s"])]
    for stage in others:
        spent = stage["spent"]
        busy = sum(spent["cpu_s"].values()) / spent["seconds"]
        per_s = stage["requests"] / spent["seconds"]
        lines.append(_compared("cores busy", stage["label"], model.busy_cores(per_s), busy))
        estimate_s = model.p95_s(stage["offered_per_s"], report["cores"] - _taken(stage))
        lines.append(_compared("p95, ms", stage["label"], estimate_s * 1e3, stage["p95_ms"]))
    return lines


def _taken(stage: Figures) -> float:
    """Cores that the generator and others took on the same machine."""
    spent = stage["spent"]
    taken_s = float(spent["machine_busy_s"] - sum(spent["cpu_s"].values()))
    return max(0.0, taken_s / float(spent["seconds"]))


def _compared(what: str, stage: str, predicted: float, measured: float) -> Figures:
    finite = math.isfinite(predicted)
    return {
        "what": what,
        "stage": stage,
        "predicted": round(predicted, 3) if finite else None,
        "measured": round(measured, 3),
        "error": round((predicted - measured) / measured, 3) if finite and measured else None,
    }


def main() -> None:
    """Prints what is needed, or how well the model predicts, and one JSON line."""
    arguments = _arguments()
    report = json.loads(arguments.report.read_text())
    base = next(stage for stage in report["stages"] if stage["label"] != CLOSED)
    console = wide_console()
    if arguments.check:
        lines = check(report)
        _show(console, "the model against what was measured", lines)
        print(json.dumps({"benchmark": "capacity", "scenario": report["scenario"], "check": lines}))
        return
    model = cost_model(report, base)
    per_minute = arguments.per_minute or 60 / report["think_s"]
    needed = plan(
        model,
        users=arguments.users,
        per_minute=per_minute,
        target=arguments.target,
        gpu_tokens_per_s=arguments.gpu_tokens_per_s,
    )
    parts = [
        {
            "deployment": name,
            "CPU ms a request": round(1e3 * model.demand_s[name], 2),
            "cores busy": cores,
            "replicas": needed["replicas"].get(name, "one per machine"),
        }
        for name, cores in needed["busy_cores"].items()
    ]
    _show(console, f"{arguments.users:g} users, {per_minute:g} requests a minute each, {report['scenario']}", parts)
    console.print(
        f"{needed['cores']} cores, {needed['gpus']} GPUs at {arguments.target:.0%}; 95% within {needed['p95_ms']:g} ms"
    )
    print(json.dumps({"benchmark": "capacity", "scenario": report["scenario"], "users": arguments.users, **needed}))


def _show(console: Console, title: str, rows: list[Figures]) -> None:
    table = Table(title=title, title_justify="left")
    for column in rows[0]:
        table.add_column(column)
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    console.print(table)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path, help="load.json of benchmarks.load, made with --home")
    parser.add_argument("--users", type=float, default=100)
    parser.add_argument("--per-minute", type=float, help="requests of each user; the scenario's without it")
    parser.add_argument("--target", type=float, default=0.7, help="utilisation not to be exceeded")
    parser.add_argument("--gpu-tokens-per-s", type=float, help="the Embedder runs on GPUs of this speed")
    parser.add_argument("--check", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
