"""A cluster's ports: two clusters, and two servers of one, never share one."""

import socket

from deployments.cluster import free_ports


def test_ports_are_different_and_free() -> None:
    ports = free_ports(200)
    assert len(set(ports)) == 200
    for port in ports[:20]:
        with socket.socket() as server:
            server.bind(("127.0.0.1", port))
