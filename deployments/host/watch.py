"""What Serve wants and has of each deployment, as lines of JSON: for tests, benchmarks and people who watch."""

import argparse
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ray.exceptions import RayError
from ray.serve.exceptions import RayServeException

from ..serve.embedder import Embedder
from .cluster import running_address

_ANSWER_S = 2.0


@dataclass(frozen=True)
class Replicas:
    """How many replicas of a deployment there are.

    Attributes:
        target: As many as Serve wants.
        running: As many as answer.
    """

    target: int
    running: int


@dataclass(frozen=True)
class Snapshot:
    """The service at one moment.

    Attributes:
        time: Seconds since the epoch.
        replicas: Of each deployment.
        waiting_tokens: Tokens that wait or are computed in all Embedder replicas; None where one did not answer.
    """

    time: float
    replicas: Mapping[str, Replicas]
    waiting_tokens: int | None


def watch(address: str, *, every_s: float) -> Iterator[Snapshot]:
    """Looks again and again; this process becomes a driver of the cluster.

    Args:
        address: Of the cluster (`cluster.running_address`).
        every_s: How often.
    """
    import ray
    from ray import serve
    from ray.serve.context import _get_global_client

    from ..app import APP_NAME

    ray.init(address=address, log_to_driver=False)
    client: Any = _get_global_client()
    embedder = serve.get_deployment_handle(Embedder.__name__, APP_NAME)
    while True:
        begin = time.monotonic()
        yield Snapshot(time.time(), replicas_of(client.get_serve_details()), _waiting_tokens(embedder))
        time.sleep(max(0.0, every_s - (time.monotonic() - begin)))


def _waiting_tokens(embedder: Any) -> int | None:
    try:
        stats = embedder.broadcast("stats").results(timeout_s=_ANSWER_S)
    except (TimeoutError, RayError, RayServeException):
        return None  # a replica has just ended
    return sum(int(each["queued_tokens"] + each["running_tokens"]) for each in stats)


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
    """`python -m deployments.host.watch HOME [--every SECONDS]`: one line of JSON each time, until it is ended."""
    parser = argparse.ArgumentParser(description="Replicas of every deployment of a running service.")
    parser.add_argument("home", type=Path)
    parser.add_argument("--every", type=float, default=1.0, metavar="SECONDS")
    arguments = parser.parse_args()
    home = arguments.home.expanduser().absolute()
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Ray prints now and then what is not for the reader of these lines
    for snapshot in watch(running_address(home), every_s=arguments.every):
        print(json.dumps(asdict(snapshot)), file=lines, flush=True)


if __name__ == "__main__":
    main()
