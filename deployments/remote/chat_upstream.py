"""Conversations passed on to OpenAI-compatible endpoints, whose replies come back piece by piece as they were sent."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import structlog

from memory.ports.models.chat_models import LANGUAGE_MODEL
from memory.values.errors import BadRequest, ModelUnavailable

from ..config.language_model_settings import EndpointArgs
from .language_model import NO_CLIENT, open_client, retry_after_s

if TYPE_CHECKING:
    import openai

_REFUSED = (400, 413, 422)
"""Statuses of a request that is refused for what it says: no other endpoint is asked, and the caller is told why."""
_MAX_REST_S = 600.0
_log = structlog.get_logger(__name__)


class UpstreamRefused(BadRequest):
    """The endpoint refuses the request; `code` and `param` are its own words."""

    def __init__(self, message: str = "", *, code: str = "", param: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.param = param


class ChatUpstream:
    """One endpoint.

    It rests for a while after it gave no answer, as `EndpointModel` does.

    Args:
        endpoint: With `base_url` and `model`.
        clock: Seconds that never go back.

    Raises:
        ImportError: The extra `language-model` is not installed.
    """

    def __init__(self, endpoint: EndpointArgs, *, clock: Callable[[], float] = time.monotonic) -> None:
        try:
            import httpx2
            import openai
        except ImportError as error:
            raise ImportError(NO_CLIENT) from error
        self._openai = openai
        self._errors = (TimeoutError, openai.OpenAIError, httpx2.HTTPError, ValueError)
        """What the client raises; the last of them for a chunk that is none."""
        self._endpoint = endpoint
        self._clock = clock
        self._client = open_client(endpoint)
        self._rests_until = 0.0

    @property
    def model_id(self) -> str:
        """The model's name there."""
        return self._endpoint.model or ""

    async def stream(self, messages: Sequence[Mapping[str, Any]], options: Mapping[str, Any]) -> AsyncIterator[Any]:
        """The chunks of a reply, as the endpoint sends them; usage in the last one where it counts it.

        Args:
            messages: The conversation.
            options: Further fields of the request.

        Raises:
            UpstreamRefused: The request cannot be answered as it is.
            ModelUnavailable: It rests, does not answer in time, or stops in the middle of a reply.
        """
        if self._clock() < self._rests_until:
            raise ModelUnavailable(f"{self.model_id} is resting.", component=LANGUAGE_MODEL)
        chunks: openai.AsyncStream[Any] | None = None
        has_begun = False
        try:
            async with asyncio.timeout(self._endpoint.timeout_s):
                chunks = await self._open(messages, options)
            while True:
                async with asyncio.timeout(self._endpoint.timeout_s):
                    try:
                        chunk = await anext(chunks)
                    except StopAsyncIteration:
                        return
                has_begun = True
                yield chunk.model_dump(exclude_unset=True)
        except self._errors as error:
            raise self._failure(error, has_begun=has_begun) from None
        finally:
            if chunks is not None:
                await chunks.close()

    async def close(self) -> None:
        """Closes its connections."""
        await self._client.close()

    async def _open(
        self, messages: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
    ) -> "openai.AsyncStream[Any]":
        endpoint = self._endpoint
        has_key = endpoint.api_key is not None and bool(endpoint.api_key.get_secret_value())
        create: Any = self._client.chat.completions.create
        stream: openai.AsyncStream[Any] = await create(
            model=self.model_id,
            messages=list(messages),
            stream=True,
            stream_options={"include_usage": True},
            extra_body=_named_for(endpoint, options),
            extra_headers={} if has_key else {"Authorization": self._openai.Omit()},
            timeout=endpoint.timeout_s,
        )
        return stream

    def _failure(self, error: Exception, *, has_begun: bool) -> UpstreamRefused | ModelUnavailable:
        """What is raised for an error of the client; whether the endpoint rests depends on it."""
        openai = self._openai
        if isinstance(error, openai.APIStatusError) and error.status_code in _REFUSED:
            body = error.body if isinstance(error.body, Mapping) else {}
            message = str(body.get("message") or f"{self.model_id} refuses the request.")
            return UpstreamRefused(message, code=str(body.get("code") or ""), param=str(body.get("param") or ""))
        asked_s = retry_after_s(error.response.headers) if isinstance(error, openai.APIStatusError) else 0.0
        self._rests_until = self._clock() + max(self._endpoint.rest_s, min(asked_s, _MAX_REST_S))
        if isinstance(error, openai.APIStatusError):  # its text may quote the key
            problem = f"{self.model_id} answered {error.status_code}."
        elif isinstance(error, TimeoutError | openai.APITimeoutError):
            problem = f"{self.model_id} did not answer within {self._endpoint.timeout_s:g} s."
        elif has_begun or not isinstance(error, openai.APIConnectionError):  # a cut reply raises one, or httpx's own
            problem = f"{self.model_id} stopped in the middle of its reply."
        else:
            problem = f"The connection to {self.model_id} failed."
        _log.warning("language_model_failed", component=LANGUAGE_MODEL, model=self.model_id, error=problem)
        return ModelUnavailable(problem, component=LANGUAGE_MODEL)


class ChatUpstreams:
    """Several endpoints: the next is asked where one fails before it has said anything.

    Args:
        upstreams: In the order in which they are asked; not empty.
    """

    def __init__(self, upstreams: Sequence[ChatUpstream]) -> None:
        self._upstreams = tuple(upstreams)

    @property
    def model_ids(self) -> tuple[str, ...]:
        """The names of the models, each once."""
        return tuple(dict.fromkeys(upstream.model_id for upstream in self._upstreams))

    async def stream(
        self, messages: Sequence[Mapping[str, Any]], options: Mapping[str, Any], *, model: str | None = None
    ) -> AsyncIterator[Any]:
        """The reply of the first endpoint that answers; with `model`, of the endpoints that have it alone.

        Raises:
            UpstreamRefused: See `ChatUpstream.stream`.
            ModelUnavailable: None answers, or one stopped in the middle of its reply.
        """
        problems = []
        for upstream in self._upstreams:
            if model is not None and upstream.model_id != model:
                continue
            has_begun = False
            unsaid: list[Any] = []  # endpoints send the role as soon as they are asked, long before they say anything
            try:
                async for chunk in upstream.stream(messages, options):
                    unsaid.append(chunk)
                    has_begun = has_begun or _says_something(chunk)
                    while has_begun and unsaid:
                        yield unsaid.pop(0)
            except ModelUnavailable as error:
                if has_begun:
                    raise
                problems.append(error.message)
            else:
                for chunk in unsaid:
                    yield chunk
                return
        raise ModelUnavailable(" ".join(problems), component=LANGUAGE_MODEL)

    async def close(self) -> None:
        """Closes all connections."""
        await asyncio.gather(*(upstream.close() for upstream in self._upstreams))


def _says_something(chunk: Mapping[str, Any]) -> bool:
    """Whether a piece holds more than the role of who will speak."""
    choices = chunk.get("choices") or ()
    return any(
        choice.get("finish_reason")
        or any(value for name, value in (choice.get("delta") or {}).items() if name != "role")
        for choice in choices
    )


def _named_for(endpoint: EndpointArgs, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with the name that the endpoint has for the limit of tokens."""
    named = dict(options)
    limits = [named.pop(name, None) for name in ("max_completion_tokens", "max_tokens")]
    if limit := next((limit for limit in limits if limit is not None), None):
        named[endpoint.token_limit] = limit
    return named
