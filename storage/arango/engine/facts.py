"""The documents of facts in ArangoDB, and how those of typed memories became such."""

from arango.database import StandardDatabase

from memory.ports.stores.typed_memories import fact_of
from memory.values.facts import Fact
from memory.values.typed_memories import TypedMemory

from ...shared.names import comparable
from ...shared.stored_values import timestamp_us
from . import queries as aql
from .client import rows_of
from .keys import Document, ascii_of, key_of, order_of

_AT_ONCE = 500
_DEADLINE_S = 60.0


def key_of_names(user_id: str, *names: str) -> str:
    """The key of what names say, in the form in which it is compared."""
    return key_of(user_id, *(comparable(name) for name in names))


def fact_document(fact: Fact) -> Document:
    """The document of a fact, but for its owner."""
    user_id = fact.user_id
    return {
        "_key": key_of(user_id, fact.fact_id),
        "fact_id": fact.fact_id,
        "order": order_of(fact.fact_id),
        "source": key_of(user_id, fact.resource_id),
        "subject": key_of_names(user_id, fact.subject),
        "about": key_of_names(user_id, fact.subject, fact.predicate),
        "says": key_of_names(user_id, fact.subject, fact.predicate, fact.object),
        "category": ascii_of(fact.category),
        "confidence": fact.confidence,
        "status": fact.status.value,
        "supersedes": None if fact.supersedes is None else key_of(user_id, fact.supersedes),
        "recorded_us": timestamp_us(fact.recorded_at),
        "body": fact.model_dump_json(),
    }


def make_facts_of_typed_memories(database: StandardDatabase) -> None:
    """Moves typed memories, which had a collection of their own, to the facts; may be repeated."""
    while bodies := rows_of(database, aql.MIGRATION_TYPED_MEMORIES, {"limit": _AT_ONCE}, deadline_s=_DEADLINE_S):
        facts = [fact_of(TypedMemory.model_validate_json(body)) for _, body in bodies]
        documents = [{**fact_document(fact), "user_id": ascii_of(fact.user_id)} for fact in facts]
        rows_of(database, aql.MIGRATION_ADD_FACTS, {"documents": documents}, deadline_s=_DEADLINE_S)
        moved = {"keys": [key for key, _ in bodies]}
        rows_of(database, aql.MIGRATION_REMOVE_TYPED_MEMORIES, moved, deadline_s=_DEADLINE_S)
