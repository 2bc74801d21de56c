"""The SessionServer deployment: owns the local Redis-protocol server where none is configured (STORES, Redis)."""

from collections.abc import Callable

from typing_extensions import override

from storage.redis.server import LocalRedisServer

from ..telemetry.replicas import Figures, Reporting


class SessionServer(Reporting):
    """Starts the local session server, restarts it when it dies, ends it with the service; one replica."""

    def __init__(self, *, server: Callable[[], LocalRedisServer]) -> None:
        self._server = server()
        self._server.start()

    @override
    async def stats(self) -> Figures:
        """How often the server had to be started again."""
        return {"restarts": self._server.restarts}

    def check_health(self) -> None:
        """Raises where the server cannot be kept alive (Ray Serve's hook)."""
        self._server.ensure_running()

    def __del__(self) -> None:
        if hasattr(self, "_server"):  # the constructor may have failed
            self._server.stop()
