"""`POST /chat`: a message in, the reply out, as one JSON object or as server-sent events (DESIGN §3).

`/chat/before` and `/chat/after` are the same turn for a chat backend that answers by itself (000 §7.2, §8.1).
"""

import json
from collections.abc import AsyncIterator
from typing import Any

import structlog
from fastapi import APIRouter, Request
from pydantic import BaseModel
from sse_starlette import EventSourceResponse, ServerSentEvent

from memory.chat.messages import Acknowledged, ChatEvent, ChatMessage, Found, Replied, Understood
from memory.values.base import utc_now
from memory.values.errors import JiyiError
from memory.values.hits import SearchResult
from memory.values.understanding.readings import Intent
from memory.values.understanding.resolutions import Clarification

from ...schemas.memory.chat import ChatBody, ChatReply
from ...schemas.memory.entities import AfterBody, AfterReply, BeforeBody, BeforeReply
from ...schemas.memory.understanding import FactReply, ForgetReply, ResolveReply, action_of
from ...schemas.users import with_own_ids
from ...support.problems import problem, replies
from ...support.service_route import ServiceRoute
from ...support.services import Services, ServicesDep

router = APIRouter(tags=["chat"], responses=replies(404, 409), route_class=ServiceRoute)
_log = structlog.get_logger(__name__)
_DELTA_CHARACTERS = 24
STREAMED: dict[str, type[BaseModel]] = {
    "resolution": ResolveReply,
    "clarification": Clarification,
    "sources": SearchResult,
    "done": ChatReply,
}
"""The data of the events that hold more than a piece of the reply or an error."""
_EVENT = {
    "type": "object",
    "properties": {
        "event": {"enum": [*STREAMED, "delta", "error"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["event", "data"],
}
"""Each event of the stream, as OpenAPI 3.2 describes them."""


@router.post(
    "/chat",
    response_model=ChatReply,
    responses={200: {"content": {"text/event-stream": {"schema": _EVENT}}}},
)
async def chat(body: ChatBody, request: Request, services: ServicesDep) -> Any:
    """Answers a message with memory.

    With `stream: true` (or `Accept: text/event-stream`) the reply comes as events: `resolution` (as `/resolve` replies)
    and `sources` as soon as they are known, `clarification` where a reference is open, `delta` with pieces of the
    reply, `done` with the whole reply once the turn is safely stored.

    Corpora named in `corpus_ids`, or set for the app, are searched beside memory; a source of the reply then has a
    `place`: its corpus, `source_uri`, page and headings.

    Where more messages wait than can be read in time the reply is 429, and `Retry-After` says when to come back;
    nothing has been stored then.
    """
    message = ChatMessage(
        user_id=body.user_id,
        session_id=body.session_id,
        message=body.message,
        top_k=body.top_k,
        turn_id=body.turn_id,
        metadata=body.metadata,
        wait=body.wait,
        corpus_ids=await services.chat_corpora(body.corpus_ids, user_id=body.user_id),
        now=body.created_at or utc_now(),
    )
    events = _observed(services.chat.run(message), services)
    if body.stream or "text/event-stream" in request.headers.get("accept", ""):
        return EventSourceResponse(_stream(events))
    reply = ReplyInProgress()
    async for event in events:
        reply.take(event)
    return reply.finished()


@router.post("/chat/before")
async def before_reply(body: BeforeBody, services: ServicesDep) -> BeforeReply:
    """On receiving a message: what it is for and what it refers to, rewritten to stand alone, and what the prompt
    should know.

    `context` holds lines about entities and, where the message asks something, about the memories and the parts of
    documents that answer it, which `memories` and `knowledge` list. Stores nothing. Where resolving fails the query
    comes back as it was. For a request to forget, `forgotten` says what would be forgotten or what could be meant, and
    `context` says how to reply and holds nothing of the memory; `/chat/after` carries it out.
    """
    corpus_ids = await services.chat_corpora(body.corpus_ids, user_id=body.user_id)
    found = await services.entities.before_reply(body.message, body.session_id, body.user_id, corpus_ids=corpus_ids)
    services.count_degraded(found.degraded)
    return BeforeReply(
        resolved_query=found.resolved_query,
        action=action_of(found.resolution),
        intents=found.extraction.intents,
        facts=FactReply.of(found.extraction.facts),
        resolution=found.resolution,
        clarification=found.resolution.clarification,
        context=found.context,
        entities=found.entities,
        memories=found.memories,
        knowledge=found.knowledge,
        degraded=found.degraded,
        forgotten=ForgetReply.of(found.forgotten),
    )


@router.post("/chat/after")
async def after_reply(body: AfterBody, services: ServicesDep) -> AfterReply:
    """Before sending the reply: writes message and reply down and learns the entities; returns those.

    A request to forget is carried out instead; neither it nor the reply is written down.

    With `auto_learn` false nothing is written; what comes back are the known entities that the message mentions.
    """
    memory = services.entities
    if not body.auto_learn:
        known = await memory.extract_and_store(body.message, body.session_id, body.user_id, auto_learn=False)
        return AfterReply(results=tuple(known))
    kept = await memory.after_reply(
        body.message,
        body.session_id,
        body.user_id,
        reply=body.reply or "",
        turn_id=body.turn_id,
        said_at=body.created_at,
    )
    services.count_degraded(kept.degraded)
    return AfterReply(
        results=kept.learned.entities if kept.learned else (),
        degraded=kept.degraded,
        forgotten=ForgetReply.of(kept.forgotten),
    )


class ReplyInProgress:
    """Collects the events of a turn into its reply."""

    def __init__(self) -> None:
        self._fields: dict[str, Any] = {}

    def take(self, event: ChatEvent) -> None:
        """Adds what an event says."""
        match event:
            case Understood():
                self._fields |= {
                    "resolution": event.resolution,
                    "clarification": event.resolution.clarification,
                    "resolved_query": event.resolution.resolved_query,
                    "action": action_of(event.resolution),
                    "mentions": event.extraction.mentions,
                    "intents": event.extraction.intents,
                    "facts": FactReply.of(event.extraction.facts),
                }
            case Replied():
                self._fields["reply"] = event.answer.text
                self._fields["answered_by"] = event.answer.answered_by
                self._fields["confidence"] = event.answer.confidence
                self._fields["sources"] = event.answer.sources
            case Acknowledged():
                self._fields |= {name: getattr(event, name) for name in type(event).model_fields}
                self._fields["forgotten"] = ForgetReply.of(event.forgotten)
            case Found():
                pass

    def finished(self) -> ChatReply:
        """The whole reply; only after the acknowledgement."""
        return ChatReply(**self._fields)


async def _observed(events: AsyncIterator[ChatEvent], services: Services) -> AsyncIterator[ChatEvent]:
    """Passes events on; logs what was resolved (000 §9.3), without texts; counts what was degraded or answered."""
    asks = False
    async for event in events:
        if isinstance(event, Understood):
            result = event.resolution
            asks = Intent.QUESTION in event.extraction.intents
            for resolution in result.resolutions:
                _log.info(
                    "entity_resolved",
                    characters=len(result.original_query),
                    start=resolution.start,
                    entity_id=resolution.entity_id,
                    source=resolution.source.value,
                    confidence=round(resolution.confidence, 3),
                )
        if isinstance(event, Replied):
            services.metrics.count_answer(asked=asks, answered=bool(event.answer.sources))
        if isinstance(event, Acknowledged):
            services.count_degraded(event.degraded)
        yield event


async def _stream(events: AsyncIterator[ChatEvent]) -> AsyncIterator[ServerSentEvent]:
    reply = ReplyInProgress()
    try:
        async for event in events:
            reply.take(event)
            match event:
                case Understood():
                    yield _sse("resolution", ResolveReply.of(event))
                    if event.resolution.clarification:
                        yield _sse("clarification", event.resolution.clarification)
                case Found():
                    yield _sse("sources", event.result)
                case Replied():
                    text = event.answer.text
                    for start in range(0, len(text), _DELTA_CHARACTERS):
                        yield _sse("delta", {"text": text[start : start + _DELTA_CHARACTERS]})
                case Acknowledged():
                    yield _sse("done", reply.finished())
    except JiyiError as error:  # the status line is sent already: the error is an event
        _log.error("stream_failed", error=error.message)
        yield _sse("error", problem(error)[1])


def _sse(event: str, data: BaseModel | dict[str, Any]) -> ServerSentEvent:
    written = (
        with_own_ids(data).model_dump_json() if isinstance(data, BaseModel) else json.dumps(data, ensure_ascii=False)
    )
    return ServerSentEvent(data=written, event=event)
