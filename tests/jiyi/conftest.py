"""A service over fakes for the client and the commands: the real app and domain, real HTTP, no Ray."""

import asyncio
import logging
import threading
import time
from collections.abc import Iterator

import pytest
import structlog
import uvicorn

from deployments.http.app import build_http
from tests.deployments.conftest import open_fakes


@pytest.fixture
def url() -> Iterator[str]:
    """A service over fakes, at a port of this machine."""
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL)
    )  # it writes to our output
    server = uvicorn.Server(uvicorn.Config(build_http(open_fakes), port=0, log_level="error"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    host, port = server.servers[0].sockets[0].getsockname()[:2]
    yield f"http://{host}:{port}"
    server.should_exit = True
    thread.join()
    structlog.reset_defaults()
