"""What Ray Serve 2.60 has no option for, done in a hook that Ray calls."""

import importlib
from typing import Any

LOOPBACK = "127.0.0.1"


def bind_replicas_to_loopback() -> None:
    """Setup hook of each worker: Serve binds a replica's gRPC server to `[::]`, whatever the address of the node."""
    replica: Any = importlib.import_module("ray.serve._private.replica")
    add_port = replica.add_port_to_grpc_server

    def add_loopback_port(server: Any, address: str) -> Any:
        return add_port(server, address.replace("[::]", LOOPBACK))

    replica.add_port_to_grpc_server = add_loopback_port


WORKER_HOOK = f"{__name__}.{bind_replicas_to_loopback.__name__}"
