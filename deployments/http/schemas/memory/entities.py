"""Request and reply bodies of the entity endpoints (000 §7, DESIGN §9)."""

from typing import Annotated

from pydantic import ConfigDict, Field, StrictInt, StringConstraints

from memory.chat.entity_memory import DEFAULT_REFERENTS
from memory.entities.editor import MAX_RELATED, RelatedEntity
from memory.entities.lookup import MAX_NAME
from memory.values.base import WHOLE
from memory.values.entities import Entity, EntityRelation, EntityType
from memory.values.hits import Hit
from memory.values.understanding.extractions import RememberIntent
from memory.values.understanding.mentions import EntitySubtype, Mention
from memory.values.understanding.readings import Action, Intent
from memory.values.understanding.resolutions import Clarification, CoreferenceResult

from ..fields import Flag, Identifier, Metadata, RequestModel, SessionName, Text, Time, examples
from ..users import User
from .chat import DEFAULT_SESSION, SAID_AT, Corpora
from .understanding import ACTION, FACTS, FORGOTTEN, INTENTS, FactReply, ForgetReply

Name = Annotated[Text, StringConstraints(max_length=MAX_NAME)]
Reference = Annotated[Name, Field(description="An entity: its id, its name or an alias.")]
Limit = Annotated[StrictInt, Field(ge=1, le=MAX_RELATED), WHOLE]


class RememberBody(RequestModel):
    """A name to store as an entity; if the entity exists, this counts as a mention."""

    model_config = examples(
        {"user_id": "ada", "entity_value": "宏康 HCI", "attributes": {"floor": 3}},
        {"user_id": "ada", "entity_value": "Hongkang Group", "subtype": "organisation"},
    )

    user_id: User
    entity_value: Name
    subtype: EntitySubtype | None = None
    attributes: Metadata = {}


class ExtractBody(RequestModel):
    """A text to find entities in; nothing is stored unless `store` is true."""

    model_config = examples({"user_id": "ada", "text": "王小明在台北用 AI-Box 測試 RM05-008。"})

    user_id: User
    text: Text
    store: Flag = False


class EntitySearchBody(RequestModel):
    """A search among the entities; an empty query returns all of them, latest mentioned first."""

    model_config = examples({"user_id": "ada", "query": "宏康", "limit": 5})

    user_id: User
    query: Annotated[str, StringConstraints(max_length=4096)] = ""
    limit: Limit = 10
    entity_type: EntityType | EntitySubtype | None = Field(
        default=None, description="Only entities of this type: `entity_noun` (every one) or a finer one."
    )


class ReferenceSearchBody(RequestModel):
    """A referring expression (它, 這個系統, 上週提到的, "the latter") in a stored session."""

    model_config = examples({"user_id": "ada", "session_id": "s1", "word": "它"})

    user_id: User
    session_id: SessionName = DEFAULT_SESSION
    word: Annotated[Text, StringConstraints(max_length=MAX_NAME)]
    limit: Limit = DEFAULT_REFERENTS


class AliasBody(RequestModel):
    """An alias to add to an entity."""

    model_config = examples({"user_id": "ada", "entity": "宏康 HCI", "alias": "Hongkang HCI"})

    user_id: User
    entity: Reference
    alias: Name


class EditBody(RequestModel):
    """Changes to an entity; omitted fields stay as they are, and an attribute that is null is removed."""

    user_id: User
    name: Name | None = None
    subtype: EntitySubtype | None = None
    attributes: Metadata | None = None


class MergeBody(RequestModel):
    """Two entities to merge: `into` stays and gets what belongs to `from`."""

    model_config = ConfigDict(
        **examples({"user_id": "ada", "into": "宏康 HCI", "from": "Hongkang Group"}),
        validate_by_name=True,
        validate_by_alias=True,
    )

    user_id: User
    into: Reference
    merged: Reference = Field(alias="from")


class SplitBody(RequestModel):
    """What to split off an entity: aliases, or memories that mention it (with a `name`), or both."""

    model_config = examples({"user_id": "ada", "entity": "宏康 HCI", "names": ["Hongkang Group"]})

    user_id: User
    entity: Reference
    names: Annotated[tuple[Name, ...], Field(max_length=64)] = ()
    memory_ids: Annotated[tuple[Identifier, ...], Field(max_length=1024)] = ()
    name: Name | None = Field(default=None, description="Name of the new entity; default: the first of `names`.")


class RelationBody(RequestModel):
    """A relation from one entity to another."""

    model_config = examples(
        {"user_id": "ada", "source": "Hongkang Group", "relation_type": "part_of", "target": "宏康 HCI"}
    )

    user_id: User
    source: Reference
    relation_type: Annotated[Identifier, StringConstraints(max_length=64)]
    target: Reference
    description: Annotated[Text, StringConstraints(max_length=1024)] | None = None
    confidence: Annotated[float, Field(ge=0, le=1, strict=True)] = 1.0


class ContextBody(RequestModel):
    """A query, to find the related entities for its prompt."""

    model_config = examples({"user_id": "ada", "query": "宏康 HCI 的保固多久？"})

    user_id: User
    query: Annotated[str, StringConstraints(max_length=4096)] = ""
    limit: Limit = 5


class BeforeBody(RequestModel):
    """A message that a chat backend has just received."""

    model_config = examples({"user_id": "ada", "session_id": "s1", "message": "它放在哪裡？"})

    user_id: User
    session_id: SessionName = DEFAULT_SESSION
    message: Text
    corpus_ids: Corpora = None


class AfterBody(RequestModel):
    """A message and the reply that a chat backend is about to send."""

    model_config = examples(
        {"user_id": "ada", "session_id": "s1", "message": "AI-Box 放在哪裡？", "reply": "在三樓。", "turn_id": "t-1"}
    )

    user_id: User
    session_id: SessionName = DEFAULT_SESSION
    message: Text
    reply: Text | None = None
    turn_id: Identifier | None = Field(default=None, description="Your own id of the message; makes retries safe.")
    created_at: Time | None = SAID_AT
    auto_learn: Flag = Field(
        default=True, description="False: return the known entities that the message mentions, and store nothing."
    )


class EntityReply(RequestModel):
    """An entity as it is now, and the ids of the changes; none where nothing changed."""

    entity: Entity
    change_ids: tuple[str, ...] = ()


class ExtractReply(RequestModel):
    """The entities found; `start` and `end` are code-point offsets into the text. `stored` lists what was learned.

    `degraded` names the components that were unavailable.
    """

    mentions: tuple[Mention, ...]
    remember: tuple[RememberIntent, ...]
    intents: tuple[Intent, ...] = INTENTS
    facts: tuple[FactReply, ...] = FACTS
    stored: tuple[Entity, ...]
    degraded: tuple[str, ...] = ()


class EntitiesReply(RequestModel):
    """Entities, best match or latest mentioned first."""

    results: tuple[Entity, ...]


class RelationReply(RequestModel):
    """A relation as it is now, and the id of the change."""

    relation: EntityRelation
    change_id: str


class RelationsReply(RequestModel):
    """Relations of an entity, strongest first."""

    results: tuple[EntityRelation, ...]


class RelatedReply(RequestModel):
    """Related entities: those with the fewest hops first, of these the strongest."""

    results: tuple[RelatedEntity, ...]


class ChangedReply(RequestModel):
    """The id of a change, which can be undone."""

    change_id: str


class EntityContextReply(RequestModel):
    """Lines for a system prompt, and the entities that they describe."""

    context: str
    entities: tuple[Entity, ...]


class LongTermReply(RequestModel):
    """Entities by name, in the form of 000 §8.2."""

    entities: dict[str, dict[str, str]]


class BeforeReply(RequestModel):
    """The resolved query and the context for the prompt; `clarification` is the question to ask where a reference is
    ambiguous, `memories` are those that answer what is asked, best first, `knowledge` such parts of documents.
    """

    resolved_query: str
    action: Action = ACTION
    intents: tuple[Intent, ...] = INTENTS
    facts: tuple[FactReply, ...] = FACTS
    resolution: CoreferenceResult
    clarification: Clarification | None
    context: str
    entities: tuple[Entity, ...]
    memories: tuple[Hit, ...] = ()
    knowledge: tuple[Hit, ...] = ()
    degraded: tuple[str, ...] = ()
    forgotten: ForgetReply | None = FORGOTTEN


class AfterReply(RequestModel):
    """The learned entities, or with `auto_learn` false the known ones; `degraded` names the parts that were down."""

    results: tuple[Entity, ...]
    degraded: tuple[str, ...] = ()
    forgotten: ForgetReply | None = FORGOTTEN
