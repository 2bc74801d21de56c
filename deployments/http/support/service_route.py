"""What is done before and after each call of the service."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, ClassVar

from fastapi.routing import APIRoute

from memory.values.errors import DatabaseError, SearchError, StoreBusy, StoreUnavailable

from ..identity.current import CURRENT_USER
from ..schemas.users import with_own_ids
from .services import Services


class ServiceRoute(APIRoute):
    """A route of the service: every router takes it as `route_class`, but that of health and metrics.

    It counts requests against the rate limits when they have been validated, since only then their user is known, and
    shows users in replies by their own ids. It refuses requests about a user whose memory is being erased. Its
    endpoints take `services: ServicesDep`.
    """

    guarded: ClassVar[bool] = True

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, _counted(endpoint, guarded=self.guarded), **options)


class ErasureRoute(ServiceRoute):
    """A route that may be called about a user whose memory is being erased."""

    guarded = False


class KnowledgeRoute(ServiceRoute):
    """A route of the knowledge base, whose record answers or fails as document 004 says (§6.3)."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, _with_knowledge_errors(endpoint), **options)


def _with_knowledge_errors(endpoint: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @wraps(endpoint)
    async def call(**arguments: Any) -> Any:
        try:
            return await endpoint(**arguments)
        except (SearchError, StoreBusy):
            raise
        except StoreUnavailable as error:
            raise DatabaseError(error.message, component=error.component) from error

    return call


def _counted(endpoint: Callable[..., Awaitable[Any]], *, guarded: bool) -> Callable[..., Awaitable[Any]]:
    @wraps(endpoint)
    async def count_and_call(*, services: Services, **arguments: Any) -> Any:
        user = CURRENT_USER.get()
        await services.count_request(user)
        if guarded and user is not None:
            await services.guard.check(user)
        return with_own_ids(await endpoint(services=services, **arguments))

    return count_and_call
