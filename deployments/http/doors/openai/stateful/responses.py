"""`/v1/responses`: OpenAI's newer API over the same assistants, with responses and conversations that are kept."""

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import structlog
from fastapi import APIRouter, Query
from pydantic import BaseModel
from sse_starlette import EventSourceResponse, ServerSentEvent

from memory.ports.stores.record import SystemOfRecord
from memory.values.base import utc_now
from memory.values.errors import InvalidField, JiyiError
from memory.values.ids import new_id

from ....identity.current import CURRENT_USER
from ....schemas.fields import Identifier
from ....support.assistants import Chunk, Conversation
from ....support.service_route import ServiceRoute
from ....support.services import ServicesDep
from ..chat.streaming import begun, json_event
from ..chats import Sent, session_of_chat
from ..errors import error_event, openai_replies
from ..reading import is_generated
from ..registry import AssistantsDep, assistant_named
from ..speaking import IsRetry, KnownPerson, Learns, known, named_session
from ..turns import turn_of
from .conversation_store import ConversationStore, KeptResponse
from .conversations import ItemList, ListOrder
from .items import Item, ItemIn, as_messages
from .response_bodies import Response, ResponseBody
from .response_events import Event, ResponseInProgress

router = APIRouter(prefix="/v1", tags=["openai"], responses=openai_replies(404, 409), route_class=ServiceRoute)
_STREAM: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}}
_log = structlog.get_logger(__name__)


class ResponseDeleted(BaseModel):
    """A response that is gone."""

    id: str
    object: Literal["response"] = "response"
    deleted: bool = True


@router.post("/responses", response_model=Response, responses=_STREAM)
async def create_response(
    body: ResponseBody, assistants: AssistantsDep, services: ServicesDep, is_retry: IsRetry, learn: Learns = True
) -> Any:
    """Answers, as `/v1/chat/completions` does, after the items of a conversation or of the responses before.

    Where a person is named, the response is kept unless `store` is false, and input and output are added to
    `conversation`. A stream ends with `response.completed`, `response.incomplete` or `response.failed`.
    """
    assistant = assistant_named(assistants, body.model)
    asked = await _asked(body, services.record, learns=learn, is_retry=is_retry)
    chunks = await begun(assistant.reply(asked.conversation))
    if body.stream:
        return EventSourceResponse(_events(chunks, asked), sep="\n")
    async for chunk in chunks:
        list(asked.progress.take(chunk))
    list(asked.progress.finish())
    asked.progress.end()
    await asked.keep()
    return asked.progress.response


@router.get("/responses/{response_id}")
async def get_response(response_id: Identifier, services: ServicesDep, person: KnownPerson) -> Response:
    """A response that was kept."""
    found = await ConversationStore(services.record).response(response_id, user_id=person)
    return Response.model_validate(found.response)


@router.delete("/responses/{response_id}")
async def delete_response(response_id: Identifier, services: ServicesDep, person: KnownPerson) -> ResponseDeleted:
    """Deletes a response; what was learned of it stays in memory."""
    await ConversationStore(services.record).delete_response(response_id, user_id=person)
    return ResponseDeleted(id=response_id)


@router.get("/responses/{response_id}/input_items")
async def list_input_items(
    response_id: Identifier,
    services: ServicesDep,
    person: KnownPerson,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    order: ListOrder = ListOrder.DESCENDING,
    after: Annotated[Identifier | None, Query(description="`last_id` of the page before.")] = None,
) -> ItemList:
    """The items that a response answered, page by page."""
    found = await ConversationStore(services.record).response(response_id, user_id=person)
    items = found.input if order is ListOrder.ASCENDING else found.input[::-1]
    ids = [item["id"] for item in items]
    if after is not None and after not in ids:
        raise InvalidField(f"after: {after!r} is no item of it", field="after", allowed="`last_id` of a page")
    return ItemList.of(items[0 if after is None else ids.index(after) + 1 :], limit)


@dataclass(frozen=True)
class _Asked:
    """A request as it is answered, and where its response is kept."""

    conversation: Conversation
    progress: ResponseInProgress
    input: list[Item]
    store: ConversationStore

    async def keep(self) -> None:
        """Keeps the response, and adds input and output to its conversation."""
        response, user_id = self.progress.response, self.conversation.user_id
        if user_id is None:
            return
        if response.conversation is not None:
            await self.store.add(response.conversation.id, [*self.input, *response.output], user_id=user_id)
        if response.store:
            whole = KeptResponse(response.model_dump(mode="json"), self.input, self.conversation.session_id)
            await self.store.keep_response(whole, user_id=user_id)


async def _asked(body: ResponseBody, record: SystemOfRecord, *, learns: bool, is_retry: bool) -> _Asked:
    """The request with everything that it continues.

    Raises:
        InvalidField: Something is not as it must be, or it continues something of nobody.
        NotFound: What it continues is not there.
    """
    store, person, now = ConversationStore(record), CURRENT_USER.get(), utc_now()
    before, sessions = await _before(body, store, person)
    own = await store.own_items(_items_of(body), user_id=person, there={item["id"] for item in before})
    history = tuple(as_messages([*before, *own]))
    if not history:
        raise InvalidField("input: nothing is to be answered", field="input", allowed="a text, or at least one item")
    leading = ({"role": "system", "content": body.instructions},) if body.instructions else ()
    sent = Sent(
        history, person, now, is_retry=is_retry, conversation_id=body.conversation_id, own=tuple(as_messages(own))
    )
    session_id = named_session(*sessions, body.session_in_metadata()) or await session_of_chat(record, sent)
    conversation = Conversation(
        messages=(*leading, *history),
        options=body.options(),
        user_id=person,
        session_id=session_id,
        turn_id=await turn_of(record, sent, session_id),
        learns=learns and not is_generated(history),
        now=now,
    )
    stored = person is not None and body.store is not False
    response = Response.begun(body, id_=f"resp_{new_id().replace('-', '')}", at=int(time.time()), stored=stored)
    return _Asked(conversation, ResponseInProgress(response, conversation.messages), own, store)


async def _before(
    body: ResponseBody, store: ConversationStore, person: str | None
) -> tuple[list[Item], list[str | None]]:
    """The items that are continued, and the sessions that they name."""
    if body.conversation_id is not None and body.previous_response_id is not None:
        raise InvalidField(
            "previous_response_id: a conversation is named too",
            field="previous_response_id",
            allowed="conversation or previous_response_id",
        )
    if body.conversation_id is not None:
        items = await store.all_items(body.conversation_id, user_id=known(person))
        return items, [body.conversation_id]
    if body.previous_response_id is not None:
        chain = await store.chain(body.previous_response_id, user_id=known(person))
        return [item for each in chain for item in each.items], [chain[-1].session_id]
    return [], []


def _items_of(body: ResponseBody) -> list[ItemIn]:
    if isinstance(body.input, str):
        return [ItemIn(role="user", content=body.input)] if body.input.strip() else []
    return list(body.input)


async def _events(chunks: AsyncIterator[Chunk], asked: _Asked) -> AsyncIterator[ServerSentEvent]:
    progress = asked.progress
    for event in progress.begin():
        yield _sent(event)
    try:
        async for chunk in chunks:
            for event in progress.take(chunk):
                yield _sent(event)
        for event in progress.finish():
            yield _sent(event)
        last = progress.end()
        await asked.keep()
    except JiyiError as error:  # the status line is sent already
        _log.error("stream_failed", error=error.message)
        worded = error_event(error)["error"]
        code = worded["code"] if worded["code"] == "rate_limit_exceeded" else "server_error"  # of those published
        last = progress.fail(code=code, message=worded["message"])
    yield _sent(last)


def _sent(event: Event) -> ServerSentEvent:
    return json_event(event, event=event["type"])
