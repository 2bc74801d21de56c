"""The target and running replicas of each deployment, as lines of JSON: for tests, benchmarks and people."""

import argparse
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .cluster import ray_environment, running_address

_ANSWER_S = 2.0


@dataclass(frozen=True)
class Replicas:
    """How many replicas of a deployment there are.

    Attributes:
        target: The number that Serve aims at.
        running: The number that run.
    """

    target: int
    running: int


@dataclass(frozen=True)
class Snapshot:
    """The replicas of the service at one moment.

    Attributes:
        time: Seconds since the epoch.
        replicas: By deployment.
        waiting_tokens: Tokens that wait or are computed in all Embedder replicas; None where one did not answer.
    """

    time: float
    replicas: Mapping[str, Replicas]
    waiting_tokens: int | None


def watch(address: str, *, every_s: float) -> Iterator[Snapshot]:
    """Takes snapshots; this process becomes a driver of the cluster, and needs its environment.

    Args:
        address: The cluster (`cluster.running_address`).
        every_s: Seconds between two snapshots.
    """
    import ray
    from ray import serve
    from ray.serve.context import _get_global_client

    from ..app import APP_NAME
    from ..serve.embedder import Embedder

    ray.init(address=address, log_to_driver=False)
    client: Any = _get_global_client()
    embedder = serve.get_deployment_handle(Embedder.__name__, APP_NAME)
    while True:
        begin = time.monotonic()
        yield Snapshot(time.time(), replicas_of(client.get_serve_details()), _waiting_tokens(embedder))
        time.sleep(max(0.0, every_s - (time.monotonic() - begin)))


def _waiting_tokens(embedder: Any) -> int | None:
    from ray.exceptions import RayError
    from ray.serve.exceptions import RayServeException

    try:
        stats = embedder.broadcast("stats").results(timeout_s=_ANSWER_S)
    except (TimeoutError, RayError, RayServeException):
        return None  # a replica has just ended
    return sum(int(replica["queued_tokens"] + replica["running_tokens"]) for replica in stats)


def replicas_of(details: Mapping[str, Any]) -> dict[str, Replicas]:
    """The replicas of each deployment, from Serve's own details (`ServeInstanceDetails`)."""
    return {
        name: Replicas(
            target=deployment["target_num_replicas"],
            running=sum(replica["state"] == "RUNNING" for replica in deployment["replicas"]),
        )
        for application in details["applications"].values()
        for name, deployment in application["deployments"].items()
    }


def main() -> None:
    """`python -m deployments.host.watch HOME [--every SECONDS]`: a line of JSON each time, until it is stopped."""
    parser = argparse.ArgumentParser(description="Replicas of every deployment of a running service.")
    parser.add_argument("home", type=Path)
    parser.add_argument("--every", type=float, default=1.0, metavar="SECONDS")
    arguments = parser.parse_args()
    home = arguments.home.expanduser().absolute()
    # Before Ray is imported; a driver without an event loop needs its router on a loop of its own.
    os.environ |= ray_environment(home) | {"RAY_SERVE_RUN_ROUTER_IN_SEPARATE_LOOP": "1"}
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Ray prints messages now and then that must not mix with these lines
    for snapshot in watch(running_address(home), every_s=arguments.every):
        print(json.dumps(asdict(snapshot)), file=lines, flush=True)


if __name__ == "__main__":
    main()
