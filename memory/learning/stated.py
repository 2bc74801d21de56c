"""What a text, or an entry of the log, states: the facts that learning makes items of (002 §8.2, `/extract`)."""

from collections.abc import Sequence
from datetime import datetime

from ..extraction.recognition import recognise
from ..facts.statements import Statement, statements_of
from ..ports.models.language import Extractor, FactReader
from ..ports.stores.record import SystemOfRecord
from ..values.base import Value
from ..values.errors import NotFound
from ..values.facts import Fact
from ..values.ids import new_id
from ..values.records import Resource
from ..values.understanding.dialogue import Role
from ..values.understanding.extractions import Extraction
from .learned_turns import TURNS_BEFORE, LearnedTurn, with_facts


class Stated(Value):
    """What a text states.

    Args:
        statements: In its order.
        items: The facts that its log entry stated first, as they are now, but those deleted; latest first.
        degraded: The parts that could not read it.
    """

    statements: tuple[Statement, ...]
    items: tuple[Fact, ...] = ()
    degraded: tuple[str, ...] = ()


async def read_text(
    text: str, *, user_id: str, record: SystemOfRecord, extractor: Extractor, facts: FactReader | None, now: datetime
) -> Stated:
    """What a message would state if it were said now; nothing is stored.

    Args:
        text: The message.
        user_id: Who would say it.
        record: Has the names that the user knows.
        extractor: Reads the message.
        facts: Reads its facts in place of the extractor, as for the `Learner`.
        now: When.

    Raises:
        Unavailable: The record or the extractor cannot answer.
        Overloaded: The reader's queue is full.
    """
    message = Resource(resource_id=new_id(), user_id=user_id, session_id="extract", content=text, created_at=now)
    [extraction] = await recognise([text], user_id=user_id, record=record, extractor=extractor)
    return await _stated(message, extraction, before=(), facts=facts)


async def read_entry(
    resource_id: str, *, user_id: str, record: SystemOfRecord, extractor: Extractor, facts: FactReader | None
) -> Stated:
    """What an entry of the log states, and the items that were made of it; see `read_text`.

    Raises:
        NotFound: This user has no such entry.
        Unavailable: The record or the extractor cannot answer.
        Overloaded: The reader's queue is full.
    """
    async with record.reading(user_id=user_id) as unit:
        entries = await unit.log.get([resource_id])
        items = await unit.facts.stated_in([resource_id])
        before = [
            turn
            for entry in (entries if facts is not None else ())
            for turn in await unit.log.session(entry.session_id, limit=TURNS_BEFORE, before=entry.sequence)
        ]
    if not entries:
        raise NotFound(f"resource_id: there is no entry {resource_id!r}.")
    entry, extraction = entries[0], entries[0].understanding or Extraction()
    if entry.role is Role.USER and entry.understanding is None:
        [extraction] = await recognise([entry.content], user_id=user_id, record=record, extractor=extractor)
    stated = await _stated(entry, extraction, before=before, facts=facts)
    return stated.model_copy(update={"items": tuple(items)})


async def _stated(
    entry: Resource, extraction: Extraction, *, before: Sequence[Resource], facts: FactReader | None
) -> Stated:
    if facts is not None:
        turn = LearnedTurn(entry, extraction, before[-1] if before else None)
        [turn] = await with_facts([turn], [before], facts)
        extraction = turn.extraction
    return Stated(statements=tuple(statements_of(entry, extraction)), degraded=extraction.degraded)
