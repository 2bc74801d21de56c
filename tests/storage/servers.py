"""Real servers for the contract suites: those that the environment names, or containers that the tests start.

`JIYI_TEST_QDRANT_URL`, `JIYI_TEST_ARANGO_URL` and `JIYI_TEST_REDIS_URL` name servers that the tests may empty. With
`JIYI_TEST_CONTAINERS=1` the others run in containers of the images of `deploy/compose.yaml`, which end with the tests.
"""

import os
from pathlib import Path

import pytest
import yaml
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import HttpWaitStrategy, PortWaitStrategy, WaitStrategy

ARANGO_PASSWORD = os.environ.get("JIYI_TEST_ARANGO_PASSWORD", "")
QDRANT_API_KEY = os.environ.get("JIYI_TEST_QDRANT_API_KEY")

_COMPOSE_FILE = Path(__file__).parents[2] / "deploy" / "compose.yaml"
_IN_CONTAINERS = os.environ.get("JIYI_TEST_CONTAINERS") == "1"


def needs_server(name: str) -> pytest.MarkDecorator:
    """Skips a test where neither a server of this name (`QDRANT`, …) nor containers are configured."""
    variable = f"JIYI_TEST_{name}_URL"
    configured = _IN_CONTAINERS or variable in os.environ
    return pytest.mark.skipif(not configured, reason=f"no real server: set {variable}, or JIYI_TEST_CONTAINERS=1")


def qdrant_url() -> str:
    """Where Qdrant is."""
    named = os.environ.get("JIYI_TEST_QDRANT_URL")
    return named or f"http://{_started('qdrant', 6333, HttpWaitStrategy(6333, '/readyz'))}"


def arango_url() -> str:
    """Where ArangoDB is; its root user has `ARANGO_PASSWORD`."""
    named = os.environ.get("JIYI_TEST_ARANGO_URL")
    ready = HttpWaitStrategy(8529, "/_api/version").with_basic_credentials("root", ARANGO_PASSWORD)
    return named or f"http://{_started('arangodb', 8529, ready, ARANGO_NO_AUTH='1')}"


def redis_url() -> str | None:
    """Where Redis is; None where the tests run a server of their own."""
    named = os.environ.get("JIYI_TEST_REDIS_URL")
    return named or (f"redis://{_started('redis', 6379, PortWaitStrategy(6379))}/15" if _IN_CONTAINERS else None)


_containers: dict[str, DockerContainer] = {}


def _started(service: str, port: int, ready: WaitStrategy, **environment: str) -> str:
    """Host and port of a service of the compose file, in a container that testcontainers removes in the end."""
    if service not in _containers:
        image = yaml.safe_load(_COMPOSE_FILE.read_text())["services"][service]["image"]
        container = DockerContainer(image).with_exposed_ports(port).waiting_for(ready)
        for name, value in environment.items():
            container = container.with_env(name, value)
        _containers[service] = container.start()
    container = _containers[service]
    return f"{container.get_container_host_ip()}:{container.get_exposed_port(port)}"
