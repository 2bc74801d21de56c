"""HTTP to ArangoDB: short timeouts, no hidden retries, and one error for "no answer" (STORES)."""

from collections.abc import MutableMapping
from typing import Any

from arango.http import HTTPClient
from arango.response import Response
from requests import Session
from requests.adapters import HTTPAdapter
from requests.auth import HTTPBasicAuth
from requests.exceptions import ConnectTimeout, RequestException, Timeout
from typing_extensions import override

from memory.values.errors import StoreUnavailable


class Unreachable(StoreUnavailable):
    """There was no answer: it is not known whether the request was carried out."""


def unreachable(reason: object) -> Unreachable:
    """The error that says why there was no answer."""
    return Unreachable(f"The system of record cannot answer: ArangoDB {reason}.", component="record")


class ArangoHttp(HTTPClient):
    """The driver's transport over `requests`, which the driver brings with it.

    The driver's own transport waits for a refused connection for more than 15 s (STORES, ArangoDB); this one asks
    once. It reads no proxies and no passwords from the environment.

    Args:
        connect_timeout_s: How long a connection may take to open.
        read_timeout_s: How long the server may be silent.
        connections: How many are kept open, and are open at most.
    """

    def __init__(self, *, connect_timeout_s: float, read_timeout_s: float, connections: int) -> None:
        self._connect_timeout_s = connect_timeout_s
        self._read_timeout_s = read_timeout_s
        self._connections = connections

    @override
    def create_session(self, host: str) -> Session:
        """A session for one server, which several threads may use."""
        session = Session()
        session.trust_env = False
        adapter = HTTPAdapter(pool_connections=1, pool_maxsize=self._connections, max_retries=0, pool_block=True)
        for scheme in ("http://", "https://"):
            session.mount(scheme, adapter)
        return session

    @override
    def send_request(
        self,
        session: Session,
        method: str,
        url: str,
        headers: MutableMapping[str, str] | None = None,
        params: MutableMapping[str, str] | None = None,
        data: Any = None,
        auth: tuple[str, str] | None = None,
    ) -> Response:
        """Sends one request, once.

        Raises:
            Unreachable: No connection, no answer in time, or an answer that is not ArangoDB's.
        """
        try:
            answer = session.request(
                method=method,
                url=url,
                params=params,
                data=data,
                headers=headers,
                auth=None if auth is None else _basic(*auth),
                timeout=(self._connect_timeout_s, self._read_timeout_s),
                allow_redirects=False,
            )
        except ConnectTimeout as error:
            raise unreachable(f"accepts no connection within {self._connect_timeout_s:g} s") from error
        except Timeout as error:
            raise unreachable(f"was silent for {self._read_timeout_s:g} s") from error
        except RequestException as error:
            raise unreachable(f"cannot be reached ({_root_cause(error)})") from error
        body = answer.content.decode("utf-8", "replace")
        if answer.status_code < 400 and not body.startswith(("{", "[")):
            raise unreachable("answered with something else than JSON: is it behind this address?")
        return Response(
            method=method,
            url=answer.url,
            headers=answer.headers,
            status_code=answer.status_code,
            status_text=answer.reason,
            raw_body=body,
        )


def _basic(username: str, password: str) -> HTTPBasicAuth:
    # As bytes, or `requests` writes them in Latin-1, which not every password fits.
    return HTTPBasicAuth(username.encode(), password.encode())


def _root_cause(error: BaseException) -> str:
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
