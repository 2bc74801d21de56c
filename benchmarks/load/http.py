"""Requests over HTTP as cheaply as Python sends them: client and server share the cores of a machine."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import aiohttp

PROBLEM_JSON = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Answer:
    """How a request ended.

    Attributes:
        status: HTTP status as text, or the name of the error where there was no reply.
    """

    status: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def is_refusal(self) -> bool:
        """Whether the service refused the request as documented: 429 or 503, and when to come back."""
        is_problem = self.headers.get("Content-Type", "").startswith(PROBLEM_JSON)
        return self.status in ("429", "503") and is_problem and "Retry-After" in self.headers

    @property
    def degraded(self) -> tuple[str, ...]:
        """The parts without which a reply was made."""
        if not self.status.startswith("2") or b'"degraded"' not in self.body:
            return ()
        reply = json.loads(self.body)
        return tuple(reply.get("degraded", ())) if isinstance(reply, dict) else ()


class HttpCaller:
    """One pool of connections without a bound; to be used as an async context.

    Args:
        url: Base URL, without a slash at the end.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0), headers={"content-type": "application/json"}
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._opened.close()

    async def send(self, method: str, path: str, body: bytes | None = None) -> str:
        """Sends a request, reads the whole reply and says how it ended: its status, or the name of the error."""
        return (await self.ask(method, path, body)).status

    async def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        """Sends a request and returns the whole reply, whatever its status, or the error."""
        try:
            async with self._opened.request(method, self._url + path, data=body) as reply:
                return Answer(str(reply.status), reply.headers, await reply.read())
        except aiohttp.ClientError as error:
            return Answer(type(error).__name__)

    async def fetch(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """Sends a request and returns the reply.

        Raises:
            aiohttp.ClientError: It was not answered with a status below 400.
        """
        async with self._opened.request(method, self._url + path, data=body) as reply:
            reply.raise_for_status()
            return await reply.read()

    @property
    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RuntimeError("use it as an async context")
        return self._session
