"""Ports of a service's own: no other service of the machine is ever given them while it runs."""

import socket
import subprocess
import sys
from contextlib import closing

import pytest

from deployments.host import port_blocks
from deployments.host.port_blocks import NoPortsLeft, PortBlock


@pytest.fixture
def two_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two blocks in all, in which nobody listens, and which no running service takes."""
    monkeypatch.setattr(port_blocks, "_FIRST", 9_300)
    monkeypatch.setattr(port_blocks, "_LAST", 9_300 + 2 * 256)


@pytest.mark.usefixtures("two_blocks")
def test_each_service_has_a_block_of_its_own_until_it_gives_it_back() -> None:
    with closing(PortBlock()) as one:
        with closing(PortBlock()) as other:
            assert {one.first, other.first} == {9_300, 9_556}
            with pytest.raises(NoPortsLeft):
                PortBlock()
        with closing(PortBlock()) as again:
            assert again.first == other.first


@pytest.mark.usefixtures("two_blocks")
def test_a_block_is_given_back_by_the_end_of_its_process() -> None:
    code = (
        "from deployments.host import port_blocks; port_blocks._FIRST, port_blocks._LAST = 9_300, 9_556;"
        "block = port_blocks.PortBlock(); print(block.first, flush=True); input()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert int(process.stdout.readline()) == 9_300
        with closing(PortBlock()) as other:
            assert other.first == 9_556
            process.kill()
            process.wait()
            with closing(PortBlock()) as freed:
                assert freed.first == 9_300


@pytest.mark.usefixtures("two_blocks")
def test_a_block_in_which_somebody_listens_is_not_taken() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 9_303))
        server.listen()
        with closing(PortBlock()) as block:
            assert block.first == 9_556


def test_all_ports_lie_in_the_block_and_no_two_are_one() -> None:
    with closing(PortBlock()) as block:
        ports = {name: int(port) for name, port in block.environment().items()}
    assert len({*ports.values()}) == len(ports)
    assert all(block.first <= port < block.first + 256 for port in ports.values())
    fixed = {port for name, port in ports.items() if "INGRESS" not in name}
    for protocol in ("HTTP", "GRPC"):
        low, high = (ports[f"RAY_SERVE_DIRECT_INGRESS_{end}_{protocol}_PORT"] for end in ("MIN", "MAX"))
        assert high - low > 100
        assert not fixed & {*range(low, high + 1)}
