"""`POST /v1/chat/completions`: conversations in OpenAI's format, continued with memory."""

import time
from collections.abc import AsyncIterator
from typing import Any

import structlog
from fastapi import APIRouter
from sse_starlette import EventSourceResponse, ServerSentEvent

from memory.ports.stores.record import SystemOfRecord
from memory.values.base import utc_now
from memory.values.errors import JiyiError
from memory.values.ids import new_id

from ....identity.current import CURRENT_USER
from ....support.assistants import Chunk, Conversation
from ....support.service_route import ServiceRoute
from ....support.services import ServicesDep
from ..chats import Sent, session_of_chat
from ..errors import error_event, openai_replies
from ..reading import is_generated
from ..registry import AssistantsDep, assistant_named
from ..speaking import IsRetry, Learns, named_session
from ..turns import turn_of
from .chat_bodies import ChatCompletion, ChatCompletionBody, ChatCompletionChunk
from .collecting import CollectedReply
from .streaming import begun, json_event

router = APIRouter(prefix="/v1", tags=["openai"], responses=openai_replies(404, 409), route_class=ServiceRoute)
_DONE = ServerSentEvent(data="[DONE]", sep="\n")
_STREAM: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}}
_log = structlog.get_logger(__name__)


@router.post(
    "/chat/completions",
    response_model=ChatCompletion,
    response_model_exclude_unset=True,
    responses=_STREAM,
)
async def create_chat_completion(
    body: ChatCompletionBody, assistants: AssistantsDep, services: ServicesDep, is_retry: IsRetry, learn: Learns = True
) -> Any:
    """Continues a conversation, with what memory holds of the person, and learns what the person said last.

    A request that is repeated is learned once. What chat programs ask for themselves (titles, tags, follow-up
    questions) is neither looked up nor learned, nor is anything where nobody is named. `jiyi` in the reply, and in the
    chunk with the `finish_reason`, says what memory did. A stream that fails ends with `{"error": …}`.
    """
    assistant = assistant_named(assistants, body.model)
    conversation = await _conversation(body, services.record, learns=learn, is_retry=is_retry)
    chunks = await begun(assistant.reply(conversation))
    writer = _Writer(body, CollectedReply(conversation.messages))
    if body.stream:
        return EventSourceResponse(_events(chunks, writer), sep="\n")
    async for chunk in chunks:
        writer.reply.take(chunk)
    return writer.whole()


async def _conversation(
    body: ChatCompletionBody, record: SystemOfRecord, *, learns: bool, is_retry: bool
) -> Conversation:
    messages = tuple(message.model_dump(mode="json", exclude_unset=True) for message in body.messages)
    sent = Sent(messages, CURRENT_USER.get(), utc_now(), is_retry=is_retry)
    session_id = named_session(body.session_in_metadata()) or await session_of_chat(record, sent)
    return Conversation(
        messages=messages,
        options=body.options(),
        user_id=sent.user_id,
        session_id=session_id,
        turn_id=await turn_of(record, sent, session_id),
        learns=learns and not is_generated(messages),
        now=sent.at,
    )


class _Writer:
    """Writes chunks and the whole reply of one request."""

    def __init__(self, body: ChatCompletionBody, reply: CollectedReply) -> None:
        self.reply = reply
        self.wants_usage = body.wants_usage
        self._asked = body.model
        self._head = {"id": f"chatcmpl-{new_id()}", "created": int(time.time())}

    def whole(self) -> ChatCompletion:
        """The reply that was collected."""
        return ChatCompletion.model_validate(
            {
                **self._head,
                "object": "chat.completion",
                "model": self.reply.model or self._asked,
                "choices": self.reply.choices(),
                "usage": self.reply.usage(),
                "jiyi": self.reply.used,
            }
        )

    def piece(self, chunk: Chunk) -> dict[str, Any]:
        """A chunk as the client gets it."""
        usage = {"usage": None} if self.wants_usage else {}
        return self._written({"choices": chunk["choices"], **usage, **_given(chunk, "jiyi")})

    def cost(self) -> dict[str, Any]:
        """The last chunk of a stream whose usage is wanted."""
        return self._written({"choices": [], "usage": self.reply.usage()})

    def _written(self, content: dict[str, Any]) -> dict[str, Any]:
        head = {**self._head, "object": "chat.completion.chunk", "model": self.reply.model or self._asked}
        return ChatCompletionChunk.model_validate(head | content).model_dump(mode="json", exclude_unset=True)


def _given(chunk: Chunk, name: str) -> dict[str, Any]:
    return {name: chunk[name]} if name in chunk else {}


async def _events(chunks: AsyncIterator[Chunk], writer: _Writer) -> AsyncIterator[ServerSentEvent]:
    try:
        async for chunk in chunks:
            writer.reply.take(chunk)
            if chunk.get("choices"):
                yield json_event(writer.piece(chunk))
        if writer.wants_usage:
            yield json_event(writer.cost())
    except JiyiError as error:  # the status line is sent already
        _log.error("stream_failed", error=error.message)
        yield json_event(error_event(error))
        return
    yield _DONE
