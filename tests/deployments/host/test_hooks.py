"""What Ray calls when it starts a worker: no replica listens on another address than loopback."""

import importlib
from typing import Any

import pytest
from ray._common.utils import load_class

from deployments.host.hooks import WORKER_HOOK, bind_replicas_to_loopback


def test_ray_finds_the_hook_by_its_name() -> None:
    assert load_class(WORKER_HOOK) is bind_replicas_to_loopback


def test_a_server_of_a_replica_is_bound_to_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    bound: list[str] = []
    replica: Any = importlib.import_module("ray.serve._private.replica")
    monkeypatch.setattr(replica, "add_port_to_grpc_server", lambda _, address: bound.append(address))
    bind_replicas_to_loopback()
    replica.add_port_to_grpc_server(None, "[::]:0")
    replica.add_port_to_grpc_server(None, "127.0.0.1:9000")
    assert bound == ["127.0.0.1:0", "127.0.0.1:9000"]
