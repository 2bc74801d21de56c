"""What of a message stays where a request to forget means only a part of it: the other clauses, word for word."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from ..language.sentences import join_clauses, split_clauses
from ..ports.models.answer_reading import MAX_ANSWER_LINES, AnswerReader, AnswerReadRequest, DatedLine
from ..ports.stores.record import UnitOfWork
from ..values.errors import Unavailable
from ..values.facts import SPEAKER, Fact
from ..values.governance.forgetting import ForgetRequest
from ..values.ids import memory_id, resource_id
from ..values.records import Memory, Resource
from ..values.text import fold_lower, normalise
from ..values.understanding.dialogue import Role
from .forget_targets import ForgetTarget

_log = structlog.get_logger(__name__)

STAYS_BELOW = 0.15
"""A clause stays only where it is this improbable that it is meant: rather a twin is lost than a secret kept."""


@dataclass(frozen=True)
class Rest:
    """What stays of a message.

    Args:
        entry: Takes the place of its entry of the log.
        memory: Takes the place of its memory.
        facts: Those of the message that stay, stated by the new entry.
    """

    entry: Resource
    memory: Memory
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class _Clauses:
    """A message with its clauses: as they were said, and as they are read, with references resolved."""

    memory: Memory
    said: list[str]
    read: list[str]


def meant_clauses(probabilities: Sequence[float]) -> list[bool]:
    """For each clause of a message whether it goes; all of them where none is surely meant.

    Args:
        probabilities: That each is meant.
    """
    goes = [probability >= STAYS_BELOW for probability in probabilities]
    return goes if any(goes) else [True] * len(goes)


async def find_rests(
    unit: UnitOfWork,
    request: ForgetRequest,
    target: ForgetTarget,
    memories: Sequence[Memory],
    facts: Sequence[Fact],
    *,
    reader: AnswerReader,
) -> list[Rest]:
    """What stays of messages; nothing of one that is meant whole, or while the reader is away.

    Args:
        unit: Of the user.
        request: The message that asks to forget something.
        target: What it is about.
        memories: Of the messages that it means, all or a part of each.
        facts: Those that it means.
        reader: Reads which clauses are meant.
    """
    split = [clauses for memory in memories if (clauses := _clauses(memory)) is not None]
    if not split:
        return []
    reads = [
        AnswerReadRequest(
            question=target.text,
            lines=tuple(DatedLine(text=text, said_at=clauses.memory.created_at) for text in clauses.read),
            now=request.message.created_at,
        )
        for clauses in split
    ]
    try:
        readings = await reader.read(reads)
    except Unavailable as error:
        _log.warning("clauses_not_read", error=error.message)
        return []
    ids = [clauses.memory.resource_id for clauses in split]
    entries = {entry.resource_id: entry for entry in await unit.log.get(ids)}
    stated_in: dict[str, list[Fact]] = defaultdict(list)
    for fact in await unit.facts.stated_in(ids):
        stated_in[fact.resource_id].append(fact)
    rests = []
    for clauses, reading in zip(split, readings, strict=True):
        stated = stated_in[clauses.memory.resource_id]
        meant = [fact for fact in stated if fact in facts]
        meant = meant if len(meant) < len(stated) else []  # all of them: it is not known which
        named = {fold_lower(fact.object) for fact in meant}
        goes = [
            clause_goes or any(name in fold_lower(text) for name in named)
            for clause_goes, text in zip(
                meant_clauses([line.clause for line in reading.lines]), clauses.read, strict=True
            )
        ]
        entry = entries.get(clauses.memory.resource_id)
        if entry is None or all(goes):
            continue
        rest = await _rest(unit, entry, clauses, goes, [fact for fact in stated if fact not in meant])
        if any(map(str.isalnum, rest.memory.text)):
            rests.append(rest)
    return rests


def _clauses(memory: Memory) -> _Clauses | None:
    """The clauses of what a user said; None where it has one, or more than are read, or no clear ones."""
    said = split_clauses(memory.text)
    read = split_clauses(memory.resolved) if memory.resolved else said
    is_split = len(said) == len(read) and 1 < len(said) <= MAX_ANSWER_LINES
    return _Clauses(memory, said, read) if is_split and memory.role is Role.USER else None


async def _rest(
    unit: UnitOfWork, entry: Resource, clauses: _Clauses, goes: Sequence[bool], stated: Sequence[Fact]
) -> Rest:
    memory = clauses.memory
    said, read = (
        join_clauses(text for text, is_gone in zip(texts, goes, strict=True) if not is_gone)
        for texts in (clauses.said, clauses.read)
    )
    gone = fold_lower("".join(text for text, is_gone in zip(clauses.read, goes, strict=True) if is_gone))
    id_ = resource_id(entry.user_id, entry.session_id, f"rest of {entry.resource_id}")
    entities = await unit.entities.get(list(memory.entity_ids))
    kept = normalise(read)
    update = {"resource_id": id_, "resolved": read if memory.resolved else None}
    return Rest(
        entry=entry.model_copy(update={**update, "content": said, "understanding": None, "sequence": 0}),
        memory=memory.model_copy(
            update={
                **update,
                "memory_id": memory_id(memory.user_id, id_),
                "text": said,
                "context": None,
                "entity_ids": tuple(
                    entity.entity_id for entity in entities if any(normalise(name) in kept for name in entity.names)
                ),
            }
        ),
        facts=tuple(
            fact.model_copy(update={"resource_id": id_}) for fact in stated if _stays(fact, fold_lower(read), gone)
        ),
    )


def _stays(fact: Fact, kept: str, gone: str) -> bool:
    """Whether what stays states a fact: it has the object, and the subject where that is not said in what goes."""
    subject, object_ = fold_lower(fact.subject), fold_lower(fact.object)
    has_subject = fact.subject == SPEAKER or subject in kept or subject not in gone
    return object_ in kept and (object_ not in gone or subject in kept) and has_subject
