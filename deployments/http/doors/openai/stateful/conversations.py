"""`/v1/conversations`: conversations that the service keeps for a person."""

from enum import StrEnum
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from ....schemas.fields import Identifier
from ....support.service_route import ServiceRoute
from ....support.services import Services, ServicesDep
from ..errors import openai_replies
from ..speaking import KnownPerson
from .conversation_store import ConversationStore
from .items import Items, copied

router = APIRouter(prefix="/v1", tags=["openai"], responses=openai_replies(404), route_class=ServiceRoute)
Metadata = Annotated[dict[str, str], Field(max_length=16)]


class ListOrder(StrEnum):
    """By when items were added: first ones first, or last ones first."""

    ASCENDING = "asc"
    DESCENDING = "desc"


class ConversationBody(BaseModel):
    """A new conversation."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra={"examples": [{"items": [{"type": "message", "role": "user", "content": "你好"}]}]},
    )

    items: Items | None = None
    metadata: Metadata | None = None


class MetadataBody(BaseModel):
    """The metadata of a conversation."""

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra={"examples": [{"metadata": {"a": "b"}}]})

    metadata: Metadata | None


class ItemsBody(BaseModel):
    """Items to be added."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra={"examples": [{"items": [{"type": "message", "role": "user", "content": "你好"}]}]},
    )

    items: Items


class ConversationReply(BaseModel):
    """A conversation."""

    id: str
    object: Literal["conversation"]
    created_at: int
    metadata: dict[str, str]


class ConversationDeleted(BaseModel):
    """A conversation that is gone."""

    id: str
    object: Literal["conversation.deleted"] = "conversation.deleted"
    deleted: bool = True


class ItemList(BaseModel):
    """A page of items; `last_id` is the `after` of the next one."""

    object: Literal["list"] = "list"
    data: list[dict[str, Any]]
    first_id: str
    last_id: str
    has_more: bool

    @classmethod
    def of(cls, items: list[dict[str, Any]], limit: int | None = None) -> "ItemList":
        """The page of these items, of which one more than `limit` says that there are more."""
        page = items[:limit]
        first, last = (page[0]["id"], page[-1]["id"]) if page else ("", "")
        return cls(data=page, first_id=first, last_id=last, has_more=len(items) > len(page))


@router.post("/conversations")
async def create_conversation(body: ConversationBody, services: ServicesDep, person: KnownPerson) -> ConversationReply:
    """Begins a conversation of the person that the credential or `X-Jiyi-User` names.

    Items are kept as they are and not learned: `/v1/responses` learns what the person says.
    """
    store = _store(services)
    items = [copied(item) for item in await store.own_items(body.items or (), user_id=person)]
    made = await store.create(items, dict(body.metadata or {}), user_id=person)
    return ConversationReply.model_validate(made)


@router.get("/conversations/{conversation_id}")
async def get_conversation(
    conversation_id: Identifier, services: ServicesDep, person: KnownPerson
) -> ConversationReply:
    """A conversation."""
    return ConversationReply.model_validate(await _store(services).get(conversation_id, user_id=person))


@router.post("/conversations/{conversation_id}")
async def update_conversation(
    conversation_id: Identifier, body: MetadataBody, services: ServicesDep, person: KnownPerson
) -> ConversationReply:
    """Replaces the metadata of a conversation."""
    changed = await _store(services).set_metadata(conversation_id, dict(body.metadata or {}), user_id=person)
    return ConversationReply.model_validate(changed)


@router.delete("/conversations/{conversation_id}")
async def delete_conversation(
    conversation_id: Identifier, services: ServicesDep, person: KnownPerson
) -> ConversationDeleted:
    """Deletes a conversation with its items; what was learned of it stays in memory."""
    await _store(services).delete(conversation_id, user_id=person)
    return ConversationDeleted(id=conversation_id)


@router.post("/conversations/{conversation_id}/items")
async def create_items(
    conversation_id: Identifier, body: ItemsBody, services: ServicesDep, person: KnownPerson
) -> ItemList:
    """Adds up to 20 items; those that were added, with ids of their own.

    An `item_reference` stands for an item of a response that was kept, of which a copy is added.
    """
    store = _store(services)
    items = [copied(item) for item in await store.own_items(body.items, user_id=person)]
    await store.add(conversation_id, items, user_id=person)
    return ItemList.of(items)


@router.get("/conversations/{conversation_id}/items")
async def list_items(
    conversation_id: Identifier,
    services: ServicesDep,
    person: KnownPerson,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    order: ListOrder = ListOrder.DESCENDING,
    after: Annotated[Identifier | None, Query(description="`last_id` of the page before.")] = None,
) -> ItemList:
    """The items of a conversation, page by page."""
    found = await _store(services).items(
        conversation_id, user_id=person, limit=limit + 1, descending=order is ListOrder.DESCENDING, after=after
    )
    return ItemList.of(found, limit)


@router.get("/conversations/{conversation_id}/items/{item_id}")
async def get_item(
    conversation_id: Identifier, item_id: Identifier, services: ServicesDep, person: KnownPerson
) -> dict[str, Any]:
    """One item."""
    return await _store(services).item(conversation_id, item_id, user_id=person)


@router.delete("/conversations/{conversation_id}/items/{item_id}")
async def delete_item(
    conversation_id: Identifier, item_id: Identifier, services: ServicesDep, person: KnownPerson
) -> ConversationReply:
    """Deletes an item; the conversation that it was in."""
    return ConversationReply.model_validate(
        await _store(services).delete_item(conversation_id, item_id, user_id=person)
    )


def _store(services: Services) -> ConversationStore:
    return ConversationStore(services.record)
