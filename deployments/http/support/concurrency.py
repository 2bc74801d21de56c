"""The number of requests that one ingress replica works on at a time."""

from starlette.types import ASGIApp, Receive, Scope, Send

from memory.values.errors import Overloaded

from ..identity.protected_resource import RESOURCE_PATHS
from .problems import problem_response

OPERATORS_PATHS = ("/health/", "/metrics")
"""What tells operators how a busy service is doing must be answered by one."""
_RETRY_AFTER_S = 1.0


class Places:
    """The places of one ingress replica, each for a request that is being answered.

    Args:
        limit: How many there are.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.taken = 0

    @property
    def is_full(self) -> bool:
        """Whether a further request is to be refused."""
        return self.taken >= self.limit


class EarlyRefusal:
    """ASGI middleware that refuses requests (429) while no place is free, before anything is spent on them.

    Args:
        app: What answers.
        places: Those that `ConcurrencyLimit` takes.
    """

    def __init__(self, app: ASGIApp, places: Places) -> None:
        self._app = app
        self._places = places

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or answers 429."""
        if _needs_a_place(scope) and self._places.is_full:
            await _refuse(self._places, scope, receive, send)
        else:
            await self._app(scope, receive, send)


class ConcurrencyLimit:
    """ASGI middleware that takes a place for each request while it is being answered, or refuses it (429).

    What waits in the queues behind the ingress came through here: without a bound they outgrow the deadlines, and every
    reply comes late and poorer. It counts requests whose body has come, so that slow clients take no place.

    Args:
        app: What answers.
        places: How many requests at a time; streams count until they end.
    """

    def __init__(self, app: ASGIApp, places: Places) -> None:
        self._app = app
        self._places = places

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or answers 429."""
        if not _needs_a_place(scope):
            await self._app(scope, receive, send)
            return
        if self._places.is_full:
            await _refuse(self._places, scope, receive, send)
            return
        self._places.taken += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._places.taken -= 1


def _needs_a_place(scope: Scope) -> bool:
    path = scope["path"] if scope["type"] == "http" else ""
    # Who follows a run waits for hours and costs a look at the record now and then; the route bounds how many do.
    is_follower = path.startswith("/knowledge/pipelines/") and path.endswith("/events")
    # What an MCP message asks of the service comes as a request of its own, which takes the place.
    is_envelope = path in RESOURCE_PATHS
    return scope["type"] == "http" and not path.startswith(OPERATORS_PATHS) and not is_follower and not is_envelope


async def _refuse(places: Places, scope: Scope, receive: Receive, send: Send) -> None:
    message = f"{places.limit} requests are being answered; try again in a moment."
    await problem_response(Overloaded(message, retry_after_s=_RETRY_AFTER_S))(scope, receive, send)
