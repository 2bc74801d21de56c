"""The app over fakes behind a real socket, for clients that bring their own transport."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager

import uvicorn

from deployments.http.app import build_http
from deployments.http.support.services import Services
from tests.deployments.conftest import open_fakes


@contextmanager
def on_loopback(
    open_services: Callable[[], AbstractAsyncContextManager[Services]] = open_fakes,
) -> Iterator[str]:
    """The URL of the app, which runs in a thread of its own with its services."""
    server = uvicorn.Server(uvicorn.Config(build_http(open_services), port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    assert server.started, "the app did not start"
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()
