"""Sends calls: one transport that waits, one for asyncio; everything that they decide is decided in one place."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
from httpx_sse import EventSource

from ..errors import Interrupted, Unreachable, refusal
from .calls import Call, Streamed, parsed
from .retrying import FIRST_PAUSE_S, Attempts, Outcome

_READY_WITHIN_S = 5.0


class _Transport:
    """What both have in common: how patient they are, and what an outcome means."""

    def __init__(self, url: str, *, patience_s: float) -> None:
        self._url = url
        self._patience_s = patience_s

    def _attempts(self, call: Call[Any]) -> Attempts:
        return Attempts(repeatable=call.repeatable, patience_s=self._patience_s)

    def _succeeded(self, outcome: Outcome) -> httpx.Response:
        """The response.

        Raises:
            Unreachable: There is none.
            Refused: It is not one of success.
        """
        if isinstance(outcome, httpx.RequestError):
            raise self._unreachable(outcome) from outcome
        if not outcome.is_success:
            raise refusal(outcome)
        return outcome

    def _unreachable(self, error: httpx.RequestError) -> Unreachable:
        return Unreachable(f"{self._url} does not answer: {error or type(error).__name__}")

    def _interrupted(self, error: httpx.RequestError) -> Interrupted:
        return Interrupted(f"{self._url}: the connection ended: {error or type(error).__name__}")


class SyncTransport(_Transport):
    """Sends calls, and waits for the reply."""

    def __init__(self, http: httpx.Client, *, patience_s: float) -> None:
        super().__init__(str(http.base_url), patience_s=patience_s)
        self._http = http

    def send(self, call: Call[Any], kind: Any) -> Any:
        """The reply to a call, as a value of a type."""
        return parsed(kind, self._succeeded(self._final(call)))

    def is_ready(self) -> bool:
        """Whether `GET /health/ready` says so."""
        try:
            return self._http.get("/health/ready", timeout=_READY_WITHIN_S).is_success
        except httpx.RequestError:
            return False

    def download(self, call: Call[Any]) -> Iterator[bytes]:
        """The body of a reply in pieces."""
        response = self._succeeded(self._final(call, stream=True))
        try:
            yield from response.iter_bytes()
        except httpx.RequestError as error:
            raise self._interrupted(error) from error
        finally:
            response.close()

    def follow(self, streamed: Streamed[Any]) -> Iterator[Any]:
        """The events of a stream; where it can be resumed, an interruption is not seen."""
        last: str | None = None
        while True:
            response = self._succeeded(self._final(streamed.behind(last), stream=True))
            try:
                for event in EventSource(response).iter_sse() if response.status_code != 204 else ():
                    last = event.id or last
                    if (value := streamed.read(event)) is not None:
                        yield value
                    if streamed.is_last(event):
                        return
            except httpx.RequestError as error:
                if not streamed.resumes:
                    raise self._interrupted(error) from error
            finally:
                response.close()
            if not streamed.resumes or response.status_code == 204:
                return
            time.sleep(FIRST_PAUSE_S)

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def _final(self, call: Call[Any], *, stream: bool = False) -> Outcome:
        attempts = self._attempts(call)
        while True:
            outcome = self._attempt(call, stream=stream)
            pause_s = attempts.pause_s(outcome)
            if pause_s is None:
                return outcome
            time.sleep(pause_s)

    def _attempt(self, call: Call[Any], *, stream: bool) -> Outcome:
        content = call.content | ({} if call.upload is None else {"content": call.upload()})
        try:
            response = self._http.send(self._http.build_request(call.method, call.path, **content), stream=stream)
            if stream and not response.is_success:
                response.read()
        except httpx.RequestError as error:
            return error
        return response


class AsyncTransport(_Transport):
    """Sends calls on the running event loop."""

    def __init__(self, http: httpx.AsyncClient, *, patience_s: float) -> None:
        super().__init__(str(http.base_url), patience_s=patience_s)
        self._http = http

    async def send(self, call: Call[Any], kind: Any) -> Any:
        """The reply to a call, as a value of a type."""
        return parsed(kind, self._succeeded(await self._final(call)))

    async def is_ready(self) -> bool:
        """Whether `GET /health/ready` says so."""
        try:
            return (await self._http.get("/health/ready", timeout=_READY_WITHIN_S)).is_success
        except httpx.RequestError:
            return False

    async def download(self, call: Call[Any]) -> AsyncIterator[bytes]:
        """The body of a reply in pieces."""
        response = self._succeeded(await self._final(call, stream=True))
        try:
            async for piece in response.aiter_bytes():
                yield piece
        except httpx.RequestError as error:
            raise self._interrupted(error) from error
        finally:
            await response.aclose()

    async def follow(self, streamed: Streamed[Any]) -> AsyncIterator[Any]:
        """The events of a stream; where it can be resumed, an interruption is not seen."""
        last: str | None = None
        while True:
            response = self._succeeded(await self._final(streamed.behind(last), stream=True))
            try:
                if response.status_code != 204:
                    async for event in EventSource(response).aiter_sse():
                        last = event.id or last
                        if (value := streamed.read(event)) is not None:
                            yield value
                        if streamed.is_last(event):
                            return
            except httpx.RequestError as error:
                if not streamed.resumes:
                    raise self._interrupted(error) from error
            finally:
                await response.aclose()
            if not streamed.resumes or response.status_code == 204:
                return
            await asyncio.sleep(FIRST_PAUSE_S)

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def _final(self, call: Call[Any], *, stream: bool = False) -> Outcome:
        attempts = self._attempts(call)
        while True:
            outcome = await self._attempt(call, stream=stream)
            pause_s = attempts.pause_s(outcome)
            if pause_s is None:
                return outcome
            await asyncio.sleep(pause_s)

    async def _attempt(self, call: Call[Any], *, stream: bool) -> Outcome:
        content = call.content | ({} if call.upload is None else {"content": _in_threads(call.upload())})
        try:
            response = await self._http.send(self._http.build_request(call.method, call.path, **content), stream=stream)
            if stream and not response.is_success:
                await response.aread()
        except httpx.RequestError as error:
            return error
        return response


async def _in_threads(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Pieces that are read from a file, without blocking the event loop."""
    while piece := await asyncio.to_thread(next, pieces, b""):
        yield piece
