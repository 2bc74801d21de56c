"""Requests to a Qdrant server: with a deadline, and with the errors of the client library translated."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import grpc
import httpx
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from memory.values.errors import StoreUnavailable

from ..resilience.circuit import Circuit
from ..shared.index_checks import unavailable

T = TypeVar("T")

_NO_SPACE = 507
_REFUSED_BY_GRPC = frozenset(
    {
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.ALREADY_EXISTS,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.OUT_OF_RANGE,
        grpc.StatusCode.UNIMPLEMENTED,
    }
)


class RefusedRequest(RuntimeError):
    """The server rejected a request as wrong: a defect of this program; the server itself is well."""


class MissingCollection(StoreUnavailable):
    """The collection existed before and is missing now."""


class QdrantCalls:
    """Sends requests through one circuit.

    Args:
        circuit: Stands before the server; it has the deadline.
        probe: The request with which a server that is unavailable is asked whether it is back.
    """

    def __init__(self, circuit: Circuit, *, probe: Callable[[], Awaitable[object]] | None = None) -> None:
        self._circuit = circuit
        if probe is not None:
            circuit.use_probe(lambda: _translated(probe))

    async def __call__(self, request: Callable[[], Awaitable[T]]) -> T:
        """Awaits one request of the client library.

        Raises:
            StoreUnavailable: The server is unavailable, slow, full or broken, or refuses the key.
            RefusedRequest: The request is wrong.
        """
        return await self._circuit.call(lambda: _translated(request))


async def _translated(request: Callable[[], Awaitable[T]]) -> T:
    try:
        return await request()
    except UnexpectedResponse as error:
        raise _status_error(error) from error
    except ResponseHandlingException as error:
        raise _transport_error(error.source) from error
    except QdrantException as error:  # 429 with Retry-After
        raise unavailable(f"Qdrant is overloaded ({error})") from error
    except grpc.RpcError as error:
        raise _grpc_error(error) from error
    except AssertionError as error:  # the client asserts that replies have a result
        raise unavailable(f"Qdrant sent an unexpected reply ({error})") from error
    except ValueError as error:
        # Errors of decoding are kinds of their own; a plain ValueError comes from the client's checks of a request.
        if type(error) is ValueError:
            raise
        raise unavailable(f"Qdrant sent an unexpected reply ({error})") from error


def _status_error(error: UnexpectedResponse) -> Exception:
    status = error.status_code or 0
    text = _shorten(error.content)
    if status == 401:
        return unavailable("Qdrant refuses the API key (401): check `api_key`")
    if status == 403:
        return unavailable(f"Qdrant does not let this API key do that (403): it needs to read and write ({text})")
    if status == 404:
        return MissingCollection(unavailable(f"Qdrant has nothing there (404: {text})").message, component="vectors")
    if status == _NO_SPACE or "No space left" in text:
        return unavailable(f"the disk of Qdrant is full ({status}: {text})")
    if status in (408, 429) or status >= 500:
        return unavailable(f"Qdrant failed ({status}: {text})")
    if 400 <= status < 500:
        return RefusedRequest(f"Qdrant refuses a request as wrong ({status}: {text}).")
    return unavailable(f"Qdrant sent an unexpected reply ({status}: {text})")


def _transport_error(source: Exception) -> StoreUnavailable:
    reason = str(source) or type(source).__name__
    if isinstance(source, httpx.TimeoutException):
        return unavailable(f"Qdrant did not answer in time ({type(source).__name__})")
    if isinstance(source, httpx.ConnectError):
        return unavailable(f"Qdrant cannot be reached ({reason})")
    if isinstance(source, httpx.TransportError):
        return unavailable(f"the connection to Qdrant broke ({reason})")
    return unavailable(f"Qdrant sent an unexpected reply ({_shorten(reason.encode())})")


def _grpc_error(error: grpc.RpcError) -> Exception:
    code, text = error.code(), error.details()
    if code in _REFUSED_BY_GRPC:
        return RefusedRequest(f"Qdrant refuses a request as wrong ({code.name}: {text}).")
    if code is grpc.StatusCode.NOT_FOUND:
        return MissingCollection(unavailable(f"Qdrant has nothing there ({text})").message, component="vectors")
    if code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
        return unavailable(f"Qdrant refuses the API key ({code.name}: {text}): check `api_key`")
    return unavailable(f"Qdrant failed ({code.name}: {text})")


def _shorten(content: bytes) -> str:
    return " ".join(content[:300].decode("utf-8", "replace").split())
