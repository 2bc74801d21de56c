"""Deploys the application to a running Ray cluster and exits, or takes the application down."""

import json
import sys
from importlib import import_module

from ..config.exposure import check_exposure
from ..config.settings import AppArgs
from ..telemetry.logs import configure_logs
from .cluster import has_haproxy
from .hooks import LOOPBACK, WORKER_HOOK
from .ray_head import SERVE_WITHOUT_PANDAS

_ANY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - compared, not bound


def with_host(args: AppArgs, host: str) -> AppArgs:
    """The settings, where the address that the service listens on is one of its names (`http.hosts`)."""
    if host in _ANY_ADDRESS or host in args.http.hosts:
        return args
    return args.model_copy(update={"http": args.http.model_copy(update={"hosts": (*args.http.hosts, host)})})


def deploy(args: AppArgs, *, address: str, host: str, port: int) -> None:
    """Starts Serve's HTTP proxy and the application; returns when every replica is healthy."""
    import ray
    from ray import serve
    from ray.serve.config import HTTPOptions

    from ..app import APP_NAME, build_app

    check_exposure(args, host)
    hook = {"worker_process_setup_hook": WORKER_HOOK}  # Serve's own actors and all replicas inherit it
    ray.init(address=address, log_to_driver=False, configure_logging=True, runtime_env=hook)
    http_options = HTTPOptions(host=LOOPBACK if has_haproxy() else host, port=port, keep_alive_timeout_s=90)
    serve.start(http_options=http_options)
    serve.run(build_app(with_host(args, host)), name=APP_NAME, route_prefix="/")


def drain(*, address: str) -> None:
    """Takes the application down: refuses new requests, finishes current ones, and closes the stores."""
    import ray
    from ray import serve

    ray.init(address=address, log_to_driver=False)
    for name in serve.status().applications:  # first: `shutdown` alone ends the proxy, and with it current replies
        serve.delete(name)
    serve.shutdown()


def main() -> None:
    """`python -m deployments.host.deploy up|down`, with `{args, address, host, port}` as JSON on standard input."""
    import_module(SERVE_WITHOUT_PANDAS)  # before anything imports Ray
    request = json.load(sys.stdin)
    args = AppArgs.received(request["args"])
    configure_logs(args.log_folder, "deploy", args.log_level)
    if sys.argv[1] == "down":
        drain(address=request["address"])
    else:
        deploy(args, address=request["address"], host=request["host"], port=request["port"])


if __name__ == "__main__":
    main()
