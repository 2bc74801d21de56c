"""Deterministic identifiers: the same thing said twice has the same id, so writes can be repeated (DESIGN §3.6)."""

import uuid

from .text import normalise

_NAMESPACE = uuid.UUID("6a697969-2d6d-5e6d-8f72-790000000001")


def derive_id(kind: str, user_id: str, *parts: str) -> str:
    """A UUID that depends on nothing but its arguments; two users never share one.

    `kind` is a part of every stored id: it stays as it is when the thing is renamed.
    """
    return str(uuid.uuid5(_NAMESPACE, "\x1f".join((kind, user_id, *parts))))


def entity_id(user_id: str, value: str) -> str:
    """The id of the entity that `value` names for `user_id`, whatever its width, case or script."""
    return derive_id("entity", user_id, normalise(value))


def resource_id(user_id: str, session_id: str, external_id: str) -> str:
    """The id of a raw-log entry that the caller named itself, so that a repeated call appends nothing."""
    return derive_id("resource", user_id, session_id, external_id)


def reply_id(user_id: str, session_id: str, message: str) -> str:
    """The id of the raw-log entry that replies to the entry `message`."""
    return resource_id(user_id, session_id, f"reply to {message}")


def memory_id(user_id: str, resource: str) -> str:
    """The id of the memory that is learned from the raw-log entry `resource`."""
    return derive_id("memory", user_id, resource)


def typed_memory_id(user_id: str, entity_type: str, entity_value: str) -> str:
    """The id of the typed memory of this value, whatever its width, case or script; types are compared as written."""
    return derive_id("aam", user_id, entity_type, normalise(entity_value))


def relation_id(user_id: str, source_entity: str, relation_type: str, target_entity: str) -> str:
    """The id of the relation of this type from one entity to another, both given by their ids."""
    return derive_id("relation", user_id, source_entity, normalise(relation_type), target_entity)


def fact_id(user_id: str, resource: str, subject: str, predicate: str, object_: str) -> str:
    """The id of the fact that the raw-log entry `resource` states; another entry that says the same is another fact."""
    return derive_id("fact", user_id, resource, normalise(subject), normalise(predicate), normalise(object_))


def category_id(user_id: str, name: str) -> str:
    """The id of the category of this name; names are compared as they are written."""
    return derive_id("category", user_id, name)


def edge_id(user_id: str, subject: str, predicate: str, object_: str) -> str:
    """The id of the edge of the facts' graph between two names, whatever their width, case or script."""
    return derive_id("edge", user_id, normalise(subject), normalise(predicate), normalise(object_))


def corpus_id(owner: str, name: str) -> str:
    """The id of the corpus of this name; `owner` is that of the app's knowledge, names are compared as written."""
    return derive_id("corpus", owner, name)


def source_id(owner: str, corpus: str, source_uri: str) -> str:
    """The id of the source of this URI in a corpus."""
    return derive_id("source", owner, corpus, source_uri)


def knowledge_id(owner: str, corpus: str, source: str, version: int, chunk_index: int) -> str:
    """The id of a chunk of one version of a source."""
    return derive_id("knowledge", owner, corpus, source, str(version), str(chunk_index))


def ingestion_id(owner: str, source: str, version: int) -> str:
    """The id of the run that ingests one version of a source."""
    return derive_id("ingestion", owner, source, str(version))


def graph_node_id(owner: str, corpus: str, name: str) -> str:
    """The id of the node that this name has in the graph of a corpus, whatever its width, case or script."""
    return derive_id("graph node", owner, corpus, normalise(name))


def graph_edge_id(owner: str, corpus: str, source_node: str, relation_type: str, target_node: str) -> str:
    """The id of the edge of this type from one node of the graph of a corpus to another."""
    return derive_id("graph edge", owner, corpus, source_node, relation_type, target_node)


def graph_extraction_id(owner: str, source: str, version: int, by: str) -> str:
    """The id of what `by`, a strategy in one version of its code and weights, extracts of one version of a source."""
    return derive_id("graph extraction", owner, source, str(version), by)


def new_id() -> str:
    """A fresh random id, for things that nothing identifies."""
    return str(uuid.uuid4())
