"""What is done before and after each call of the service."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from fastapi.routing import APIRoute

from ..identity.current import CURRENT_USER
from ..schemas.shown_users import with_own_ids
from .services import Services


class ServiceRoute(APIRoute):
    """A route of the service: every router takes it as `route_class`, but that of health and metrics.

    It counts requests against the rate limits when they have been validated, since only then their user is known, and
    shows users in replies by their own ids. Its endpoints take `services: ServicesDep`.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, _counted(endpoint), **options)


def _counted(endpoint: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @wraps(endpoint)
    async def count_and_call(*, services: Services, **arguments: Any) -> Any:
        await services.count_request(CURRENT_USER.get())
        return with_own_ids(await endpoint(services=services, **arguments))

    return count_and_call
