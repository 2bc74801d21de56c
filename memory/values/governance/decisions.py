"""Decisions about memories: retain, delete or anonymise, and the record of each (004 §7.3, §7.4)."""

import hashlib
import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from ..base import Timestamp, UserId, Value
from ..facts import SPEAKER, Fact, FactStatus
from ..ids import new_id
from ..records import Memory, Resource

MAX_DECISIONS = 64
"""So many memories are decided on at once: the service takes no objects with more members."""
ANONYMISED_TEXT = "[ANONYMIZED]"
"""What the content of a memory becomes (004 §7.3)."""
ANONYMISED_VALUE = '{"anonymized": true}'
"""What the value of a fact becomes (004 §7.3)."""

IdempotencyKey = Annotated[str, StringConstraints(min_length=1, max_length=128)]


class Decision(StrEnum):
    """What is decided about a memory and its facts."""

    RETAIN = "retain"
    """It stays as it is; that this was decided is recorded."""
    DELETE = "delete"
    """It is erased from every store, with its message and facts."""
    ANONYMIZE = "anonymize"
    """Its place, kind and time stay for counting; content, vectors, metadata and values go."""


class DecisionRequest(Value):
    """Decisions that are made at once: all of them, or none.

    Args:
        decisions: By the id of the memory.
        expected_versions: The version that a memory must have, by its id; memories that are left out may have any.
        request_id: Of this request, so that it can be sent again where it is not known whether it arrived.
        idempotency_key: Chosen by the caller: the same request with it is carried out once.
        note: Why, in the words of whoever decides.
        at: When.
    """

    user_id: UserId
    decisions: dict[str, Decision] = Field(min_length=1, max_length=MAX_DECISIONS)
    expected_versions: dict[str, int] = {}
    idempotency_key: IdempotencyKey | None = None
    note: str = ""
    at: Timestamp
    request_id: str = Field(default_factory=new_id)

    @model_validator(mode="after")
    def _versions_are_of_decisions(self) -> Self:
        check_versions(self.expected_versions, self.decisions)
        return self

    @property
    def digest(self) -> str:
        """SHA-256 of what is asked for; the time is no part of it."""
        fields = self.model_dump(mode="json", include={"decisions", "expected_versions", "note"})
        return hashlib.sha256(json.dumps(fields, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def check_versions(expected: Mapping[str, int], decisions: Mapping[str, Decision]) -> None:
    """Checks that versions are expected of nothing but what is decided on.

    Raises:
        ValueError: There are others.
    """
    if others := sorted(expected.keys() - decisions.keys()):
        raise ValueError(f"expected_versions has memories without a decision: {', '.join(others)}")


class DecidedMemory(Value):
    """A memory that was decided on: its version before, and how many facts were stated in it."""

    memory_id: str
    decision: Decision
    version: int
    facts: int


class DecisionRecord(Value):
    """An entry of the audit history; it names ids and counts, and nothing that was remembered.

    Args:
        removed: What went, or was rewritten, in the system of record, by what it holds.
        erasures: The erasures that take it out of vectors, sessions, caches and files (`GET /erasures/{erasure_id}`).
        digest: `DecisionRequest.digest`.
    """

    decision_id: str
    at: Timestamp
    decided: tuple[DecidedMemory, ...]
    note: str = ""
    removed: dict[str, int] = {}
    erasures: tuple[str, ...] = ()
    idempotency_key: str | None = None
    digest: str = ""


def anonymised_memory(memory: Memory) -> Memory:
    """The memory without anything personal; it is not indexed any more."""
    if memory.is_anonymised:
        return memory
    gone = dict.fromkeys(("resolved", "context", "speaker"), None) | {"metadata": {}, "entity_ids": ()}
    kept = {"text": ANONYMISED_TEXT, "is_anonymised": True, "version": memory.version + 1}
    return memory.model_copy(update=gone | kept)


def anonymised_resource(resource: Resource) -> Resource:
    """The log entry without anything personal; nothing is learned of it again."""
    gone = dict.fromkeys(("resolved", "understanding", "speaker"), None) | {"metadata": {}}
    return resource.model_copy(update=gone | {"content": ANONYMISED_TEXT, "learn": False})


def anonymised_fact(fact: Fact) -> Fact:
    """The fact without anything personal: predicate, category and times stay, and no prompt or search finds it."""
    gone = dict.fromkeys(("subject_id", "object_id", "time", "details"), None)
    subject = fact.subject if fact.subject == SPEAKER else ANONYMISED_TEXT
    return fact.model_copy(
        update={**gone, "subject": subject, "object": ANONYMISED_VALUE, "status": FactStatus.DELETED}
    )
