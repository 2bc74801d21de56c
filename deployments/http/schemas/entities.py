"""Request and reply bodies of the entity endpoints (000 §7, DESIGN §9)."""

from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints

from memory.entities.identity_service import MAX_RELATED, RelatedEntity
from memory.entities.names import MAX_NAME
from memory.entities.service import REFERENTS
from memory.values.entities import Entity, EntityRelation
from memory.values.mentions import EntitySubtype
from memory.values.resolutions import Clarification, CoreferenceResult

from .chat import DEFAULT_SESSION
from .fields import Count, Flag, Identifier, Metadata, RequestModel, Text, example

Name = Annotated[Text, StringConstraints(max_length=MAX_NAME)]
Reference = Annotated[Name, Field(description="An entity: its id, its name or an alias.")]
Limit = Annotated[Count, Field(ge=1, le=MAX_RELATED)]


class RememberBody(RequestModel):
    """A name to keep because the user says so; one that is known is mentioned once more."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"user_id": "ada", "entity_value": "宏康 HCI", "attributes": {"floor": 3}},
                {"user_id": "ada", "entity_value": "Hongkang Group", "subtype": "organisation"},
            ]
        },
    )

    user_id: Identifier
    entity_value: Name
    subtype: EntitySubtype | None = None
    attributes: Metadata = {}


class EntitySearchBody(RequestModel):
    """A search among the entities; an empty query means all of them, latest mentioned first."""

    model_config = example({"user_id": "ada", "query": "宏康", "limit": 5})

    user_id: Identifier
    query: Annotated[str, StringConstraints(max_length=4096)] = ""
    limit: Limit = 10


class ReferenceSearchBody(RequestModel):
    """A referring expression (它, 這個系統, 上週提到的, "the latter") in a stored session."""

    model_config = example({"user_id": "ada", "session_id": "s1", "word": "它"})

    user_id: Identifier
    session_id: Identifier = DEFAULT_SESSION
    word: Annotated[Text, StringConstraints(max_length=MAX_NAME)]
    limit: Limit = REFERENTS


class AliasBody(RequestModel):
    """One more name of an entity."""

    model_config = example({"user_id": "ada", "entity": "宏康 HCI", "alias": "Hongkang HCI"})

    user_id: Identifier
    entity: Reference
    alias: Name


class EditBody(RequestModel):
    """What is to be changed of an entity; what is left out stays. An attribute that is null is taken away."""

    user_id: Identifier
    name: Name | None = None
    subtype: EntitySubtype | None = None
    attributes: Metadata | None = None


class MergeBody(RequestModel):
    """Two entities that are one: `into` stays and takes over what belongs to `from`."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_by_name=True,
        validate_by_alias=True,
        json_schema_extra={"examples": [{"user_id": "ada", "into": "宏康 HCI", "from": "Hongkang Group"}]},
    )

    user_id: Identifier
    into: Reference
    merged: Reference = Field(alias="from")


class SplitBody(RequestModel):
    """What is to leave an entity for one of its own: aliases, or memories that mention it (with a `name`), or both."""

    model_config = example({"user_id": "ada", "entity": "宏康 HCI", "names": ["Hongkang Group"]})

    user_id: Identifier
    entity: Reference
    names: Annotated[tuple[Name, ...], Field(max_length=64)] = ()
    memory_ids: Annotated[tuple[Identifier, ...], Field(max_length=1024)] = ()
    name: Name | None = Field(default=None, description="Of the new entity; the first of `names` where it is left out.")


class RelationBody(RequestModel):
    """A relation from one entity to another."""

    model_config = example(
        {"user_id": "ada", "source": "Hongkang Group", "relation_type": "part_of", "target": "宏康 HCI"}
    )

    user_id: Identifier
    source: Reference
    relation_type: Annotated[Identifier, StringConstraints(max_length=64)]
    target: Reference
    description: Annotated[Text, StringConstraints(max_length=1024)] | None = None
    confidence: Annotated[float, Field(ge=0, le=1, strict=True)] = 1.0


class ContextBody(RequestModel):
    """A query for whose prompt the related entities are wanted."""

    model_config = example({"user_id": "ada", "query": "宏康 HCI 的保固多久？"})

    user_id: Identifier
    query: Annotated[str, StringConstraints(max_length=4096)] = ""
    limit: Limit = 5


class BeforeBody(RequestModel):
    """A message that a chat backend has just received."""

    model_config = example({"user_id": "ada", "session_id": "s1", "message": "它放在哪裡？"})

    user_id: Identifier
    session_id: Identifier = DEFAULT_SESSION
    message: Text


class AfterBody(RequestModel):
    """A message and the reply that a chat backend is about to send."""

    model_config = example(
        {"user_id": "ada", "session_id": "s1", "message": "AI-Box 放在哪裡？", "reply": "在三樓。", "turn_id": "t-1"}
    )

    user_id: Identifier
    session_id: Identifier = DEFAULT_SESSION
    message: Text
    reply: Text | None = None
    turn_id: Identifier | None = Field(default=None, description="Your own id of the message: makes a retry harmless.")
    auto_learn: Flag = Field(default=True, description="False: only say which known entities the message mentions.")


class EntityReply(RequestModel):
    """An entity as it is now, and the ids of the changes that made it so; none where nothing changed."""

    entity: Entity
    change_ids: tuple[str, ...] = ()


class EntitiesReply(RequestModel):
    """Entities, best first."""

    results: tuple[Entity, ...]


class RelationReply(RequestModel):
    """A relation as it is now, and the id of the change that made it so."""

    relation: EntityRelation
    change_id: str


class RelationsReply(RequestModel):
    """Relations of an entity, those that weigh most now first."""

    results: tuple[EntityRelation, ...]


class RelatedReply(RequestModel):
    """Entities that hang together with one: nearest first, of those the strongest."""

    results: tuple[RelatedEntity, ...]


class ChangedReply(RequestModel):
    """The id of a change, which can be undone."""

    change_id: str


class ContextReply(RequestModel):
    """Lines for a system prompt, and the entities they speak of."""

    context: str
    entities: tuple[Entity, ...]


class LongTermReply(RequestModel):
    """Entities by name, as 000 §8.2 adds them to a conversation's own."""

    entities: dict[str, dict[str, str]]


class BeforeReply(RequestModel):
    """The query to go on with, why, and what to tell the model.

    `clarification` is what to ask the user where a reference could mean several things.
    """

    resolved_query: str
    resolution: CoreferenceResult
    clarification: Clarification | None
    context: str
    entities: tuple[Entity, ...]
