"""Language models at OpenAI-compatible endpoints, over HTTP with the `openai` client (an extra)."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import structlog
from pydantic import BaseModel, SecretStr, ValidationError
from typing_extensions import override

from memory.ports.models.chat_models import LANGUAGE_MODEL, ChatModel, ChatReply, ChatRequest, ModelMessage, ToolCall
from memory.values.errors import ModelUnavailable

from ..config.language_model_settings import EndpointArgs

if TYPE_CHECKING:
    import openai

NO_CLIENT = "The settings of a language model need an extra: pip install 'jiyi[language-model]'"
_log = structlog.get_logger(__name__)
_CUT = "length"
"""`finish_reason` of an answer that was cut."""
_MAX_REST_S = 600.0


class _Function(BaseModel):
    name: str
    arguments: str = "{}"


class _ToolCall(BaseModel):
    id: str
    function: _Function


class _Message(BaseModel):
    content: str | None = None
    tool_calls: tuple[_ToolCall, ...] | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(BaseModel):
    """What is used of a reply: compatible endpoints leave out or add the rest."""

    choices: tuple[_Choice, ...]
    usage: _Usage | None = None


class EndpointModel(ChatModel):
    """The model at one endpoint.

    An endpoint that does not answer, or answers that it cannot (401, 404, 429, 5xx), rests for a while: requests fail
    at once. One that refuses a request alone (400) goes on.

    Args:
        endpoint: With `base_url` and `model`.
        clock: Seconds that never go back.

    Raises:
        ImportError: The extra `language-model` is not installed.
    """

    def __init__(self, endpoint: EndpointArgs, *, clock: Callable[[], float] = time.monotonic) -> None:
        try:
            import openai
        except ImportError as error:
            raise ImportError(NO_CLIENT) from error
        self._openai = openai
        self._endpoint = endpoint
        self._clock = clock
        self._client = open_client(endpoint)
        self._rests_until = 0.0
        self._error = ""
        self._totals = {
            "requests": 0, "failures": 0, "retries": 0, "prompt_tokens": 0, "completion_tokens": 0, "seconds": 0.0
        }  # fmt: skip

    @property
    @override
    def model_id(self) -> str:
        return self._endpoint.model or ""

    @override
    async def complete(self, request: ChatRequest) -> ChatReply:
        if self._clock() < self._rests_until:
            raise ModelUnavailable(f"{self.model_id} is resting: {self._error}", component=LANGUAGE_MODEL)
        self._totals["requests"] += 1
        begin = self._clock()
        try:
            reply = await self._answer(request)
        except ModelUnavailable as error:
            self._totals["failures"] += 1
            self._error = error.message
            _log.warning("language_model_failed", component=LANGUAGE_MODEL, model=self.model_id, error=error.message)
            raise
        finally:
            self._totals["seconds"] += self._clock() - begin
        self._totals["prompt_tokens"] += reply.prompt_tokens
        self._totals["completion_tokens"] += reply.completion_tokens
        return reply

    @override
    def figures(self) -> Mapping[str, float | str]:
        resting = self._clock() < self._rests_until
        return {**self._totals, **({"status": "degraded", "error": self._error} if resting else {})}

    @override
    async def close(self) -> None:
        await self._client.close()

    async def _answer(self, request: ChatRequest) -> ChatReply:
        openai, name = self._openai, self.model_id
        own_s = self._endpoint.timeout_s
        seconds = own_s if request.timeout_s is None else min(own_s, request.timeout_s)
        try:
            async with asyncio.timeout(seconds):
                raw = await self._client.chat.completions.with_raw_response.create(
                    **_body(request, self._endpoint), timeout=seconds, extra_headers=self._headers()
                )
                content = raw.content
        except TimeoutError:
            if seconds == own_s:
                self._rest()
            raise ModelUnavailable(f"{name} did not answer within {seconds:g} s.", component=LANGUAGE_MODEL) from None
        except openai.APITimeoutError:
            self._rest()
            raise ModelUnavailable(f"{name} did not answer in time.", component=LANGUAGE_MODEL) from None
        except openai.APIConnectionError as error:
            self._rest()
            cause = type(error.__cause__ or error).__name__
            raise ModelUnavailable(f"The connection to {name} failed: {cause}.", component=LANGUAGE_MODEL) from None
        except openai.APIStatusError as error:  # its text may quote the request or the key
            if error.status_code not in (400, 413, 422):
                self._rest(retry_after_s(error.response.headers))
            raise ModelUnavailable(f"{name} answered {error.status_code}.", component=LANGUAGE_MODEL) from None
        self._totals["retries"] += raw.retries_taken
        return _reply(content, name)

    def _rest(self, at_least_s: float = 0.0) -> None:
        self._rests_until = self._clock() + max(self._endpoint.rest_s, min(at_least_s, _MAX_REST_S))

    def _headers(self) -> "dict[str, str | openai.Omit]":
        return {} if _secret(self._endpoint.api_key) else {"Authorization": self._openai.Omit()}


class FallbackModel(ChatModel):
    """Asks the first of several models, and where it gives no answer the next.

    Args:
        models: In the order in which they are asked; not empty.
    """

    def __init__(self, models: Sequence[ChatModel]) -> None:
        self._models = tuple(models)
        self._totals = {"fallbacks": 0, "unanswered": 0}

    @property
    @override
    def model_id(self) -> str:
        return self._models[0].model_id

    @override
    async def complete(self, request: ChatRequest) -> ChatReply:
        try:
            async with asyncio.timeout(request.timeout_s):
                return await self._first_answer(request)
        except TimeoutError:
            self._totals["unanswered"] += 1
            message = f"There was no answer within {request.timeout_s:g} s."
            raise ModelUnavailable(message, component=LANGUAGE_MODEL) from None

    @override
    def figures(self) -> Mapping[str, float | str]:
        """Totals over all models; `status` and `error` where one of them is away."""
        figures: dict[str, float | str] = dict(self._totals)
        errors = []
        for model in self._models:
            for name, value in model.figures().items():
                if isinstance(value, str):
                    errors += [value] if name == "error" else []
                else:
                    figures[name] = float(figures.get(name, 0.0)) + value
        return figures | ({"status": "degraded", "error": "; ".join(errors)} if errors else {})

    @override
    async def close(self) -> None:
        await asyncio.gather(*(model.close() for model in self._models))

    async def _first_answer(self, request: ChatRequest) -> ChatReply:
        errors = []
        for place, model in enumerate(self._models):
            try:
                reply = await model.complete(request)
            except ModelUnavailable as error:
                errors.append(error.message)
            else:
                self._totals["fallbacks"] += place > 0
                return reply
        self._totals["unanswered"] += 1
        raise ModelUnavailable(" ".join(errors), component=LANGUAGE_MODEL)


class _Headers(Protocol):
    def get(self, key: str, default: str) -> str: ...


def open_client(endpoint: EndpointArgs) -> "openai.AsyncOpenAI":
    """A client that follows no redirect, which would take texts of users elsewhere, and whose account is ours alone."""
    import openai

    client = openai.AsyncOpenAI(
        api_key=_secret(endpoint.api_key) or "none",
        base_url=endpoint.base_url,
        max_retries=endpoint.max_retries,
        http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False),
    )
    client.organization = client.project = None  # taken from variables of the environment that are no settings
    return client


def _body(request: ChatRequest, endpoint: EndpointArgs) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": endpoint.model,
        "messages": [_message(message) for message in request.messages],
        endpoint.token_limit: request.max_tokens,
    }
    if endpoint.temperature is not None:
        body["temperature"] = endpoint.temperature
    if request.tools:
        body["tools"] = [{"type": "function", "function": tool.model_dump()} for tool in request.tools]
    if request.answer_schema is not None and endpoint.answer_format == "json_schema":
        schema = {
            "name": request.answer_schema.name,
            "schema": request.answer_schema.definition,
            "strict": True,
        }
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif request.answer_schema is not None and endpoint.answer_format == "json_object":
        body["response_format"] = {"type": "json_object"}
    return body


def _message(message: ModelMessage) -> dict[str, Any]:
    body: dict[str, Any] = {"role": message.role.value, "content": message.content}
    if message.tool_calls:
        body["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        body["tool_call_id"] = message.tool_call_id
    return body


def _reply(content: bytes, name: str) -> ChatReply:
    try:
        completion = _Completion.model_validate_json(content)
    except ValidationError:
        raise ModelUnavailable(f"The reply of {name} is no chat completion.", component=LANGUAGE_MODEL) from None
    choice = completion.choices[0] if completion.choices else None
    calls = (choice.message.tool_calls or ()) if choice else ()
    if choice is None or not (choice.message.content or calls):
        raise ModelUnavailable(f"The reply of {name} has no text.", component=LANGUAGE_MODEL)
    usage = completion.usage or _Usage()
    return ChatReply(
        text=choice.message.content or "",
        tool_calls=tuple(
            ToolCall(id=call.id, name=call.function.name, arguments=call.function.arguments) for call in calls
        ),
        is_whole=choice.finish_reason != _CUT,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
    )


def retry_after_s(headers: _Headers) -> float:
    """The seconds of `Retry-After`; 0 where there is none or a date."""
    try:
        return max(0.0, float(headers.get("retry-after", "0")))
    except ValueError:
        return 0.0


def _secret(key: SecretStr | None) -> str:
    return key.get_secret_value() if key else ""
