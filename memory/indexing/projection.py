"""Projects entities, memories, facts and chunks to points of the index, from the record alone (DESIGN §6, §7)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2s

from ..language.keywords import VERSION as ANALYSIS_VERSION
from ..language.wording import fact_text
from ..ports.stores.vectors import LANGUAGE, FloatVector, IndexPoint, Stored
from ..values.base import Scalar
from ..values.documents.corpora import Knowledge, Source
from ..values.entities import Entity, EntityStatus
from ..values.facts import Fact, FactStatus
from ..values.predicates import type_of
from ..values.records import Memory, Resource
from ..values.text import has_han
from ..values.vectors import LanguageGroup, SparseVector

_DIGEST_BYTES = 8
_LAGGING = frozenset({"access_count"})


@dataclass(frozen=True)
class Projection:
    """A point without its vectors, and the texts of the vectors.

    Args:
        item_id: Id of the entity, memory, fact or chunk, and of its point.
        dense_text: Text for the encoder.
        keyword_text: Text for the keyword analyzer.
    """

    item_id: str
    dense_text: str
    keyword_text: str
    created_at_s: float
    session_id: str | None = None
    role: str | None = None
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    payload: Mapping[str, Stored] = field(default_factory=dict)

    def fingerprint(self, model_id: str) -> str:
        """Digests of the dense vector's source and of the rest of the point, with a dot between them.

        The number of retrievals is left out, so that a retrieval does not change the index.
        """
        rest = [
            ANALYSIS_VERSION,
            self.keyword_text,
            self.created_at_s,
            self.session_id,
            self.role,
            dict(self.metadata),
            {**self.payload, **dict.fromkeys(self.payload.keys() & _LAGGING, 0)},
        ]
        return f"{_digest([model_id, self.dense_text])}.{_digest(rest)}"

    def point(self, *, model_id: str, dense: FloatVector, sparse: SparseVector) -> IndexPoint:
        """The point with these vectors."""
        return IndexPoint(
            point_id=self.item_id,
            dense=dense,
            sparse=sparse,
            created_at_s=self.created_at_s,
            session_id=self.session_id,
            role=self.role,
            metadata=self.metadata,
            payload=self.payload,
            fingerprint=self.fingerprint(model_id),
        )


def has_same_vector(left: str, right: str) -> bool:
    """Whether points with these fingerprints have the same dense vector (text and model)."""
    return left.partition(".")[0] == right.partition(".")[0]


def project_entity(entity: Entity) -> Projection | None:
    """An entity of any status by its names; None where it was only preloaded."""
    if entity.is_unseen_seed:
        return None
    text = "、".join((entity.entity_value, *entity.aliases))
    return Projection(
        item_id=entity.entity_id,
        dense_text=text,
        keyword_text=text,
        created_at_s=entity.first_mentioned.timestamp(),
        payload={
            "entity_value": entity.entity_value,
            "entity_type": entity.entity_type.value,
            "status": (EntityStatus.ACTIVE if entity.is_current else entity.status).value,
            "first_mentioned": entity.first_mentioned.timestamp(),
            "last_mentioned": entity.last_mentioned.timestamp(),
            "mention_count": entity.mention_count,
        },
    )


def project_memory(memory: Memory, resource: Resource | None) -> Projection | None:
    """A memory; `resource` is the log entry that it was learned from. None where it was anonymised (004 §7.3)."""
    if memory.is_anonymised:
        return None
    text = dense_text(memory, resource)
    return Projection(
        item_id=memory.memory_id,
        dense_text=text,
        keyword_text=keyword_text(memory, resource),
        created_at_s=memory.created_at.timestamp(),
        session_id=memory.session_id,
        role=memory.role.value,
        metadata=memory.metadata,
        payload={
            "confidence": memory.confidence,
            "access_count": memory.access_count,
            "created_at": memory.created_at.timestamp(),
            "updated_at": memory.updated_at.timestamp(),
            LANGUAGE: LanguageGroup.of(text).value,
        },
    )


def project_fact(fact: Fact) -> Projection | None:
    """A fact in its own words, else as sentences in English and Chinese; None where it was deleted.

    The payload is that of 001 §2.2; `status` is the fact's: one in review is active.
    """
    if fact.status is FactStatus.DELETED:
        return None
    text = fact_text(fact)
    return Projection(
        item_id=fact.fact_id,
        dense_text=text,
        keyword_text=text,
        created_at_s=fact.recorded_at.timestamp(),
        payload={
            "category": fact.category,
            "entity_type": type_of(fact.predicate),
            "entity_value": fact.object,
            "confidence": fact.confidence,
            "access_count": fact.access_count,
            "status": fact.status.value,
            "created_at": fact.recorded_at.timestamp(),
            "updated_at": fact.updated_at.timestamp(),
        },
    )


def project_knowledge(chunk: Knowledge, source: Source | None) -> Projection | None:
    """A chunk under the title and the headings that it stands under; None where its version is not to be found.

    `source` is that of the chunk.
    """
    if source is None or chunk.version not in source.indexed:
        return None
    text = "\n".join((*dict.fromkeys(part for part in (chunk.title, *chunk.headings) if part), chunk.content))
    return Projection(
        item_id=chunk.knowledge_id,
        dense_text=text,
        keyword_text=text,
        created_at_s=chunk.created_at.timestamp(),
        metadata=chunk.metadata,
        payload={
            "corpus_id": chunk.corpus_id,
            "source_id": chunk.source_id,
            "chunk_index": chunk.chunk_index,
            LANGUAGE: LanguageGroup.of(text).value,
        },
    )


def dense_text(memory: Memory, resource: Resource | None) -> str:
    """The previous turn and the resolved text: embedding both raises recall (DESIGN §6, measured)."""
    own = _spoken(memory, resource)
    return f"{memory.context}\n{own}" if memory.context else own


def keyword_text(memory: Memory, resource: Resource | None) -> str:
    """The date in words and the resolved text (DESIGN §6, measured)."""
    at = memory.created_at
    date = f"{at.year}年{at.month}月{at.day}日" if has_han(memory.text) else f"{at.day} {at:%B} {at.year}"
    return f"{date} {_spoken(memory, resource)}"


def _spoken(memory: Memory, resource: Resource | None) -> str:
    is_as_said = resource is not None and resource.content == memory.text
    text = (resource.resolved if resource and is_as_said else None) or memory.text
    return f"{memory.speaker}: {text}" if memory.speaker else text


def _digest(parts: list[object]) -> str:
    written = json.dumps(parts, sort_keys=True, separators=(",", ":"))  # ASCII, so that any string can be digested
    return blake2s(written.encode("ascii"), digest_size=_DIGEST_BYTES).hexdigest()
