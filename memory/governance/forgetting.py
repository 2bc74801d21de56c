"""Requests to forget that were made in chat: each is written down for a person, since nothing is erased by chat yet."""

from ..ports.record import UnitOfWork
from ..values.changes import ChangeActor, ChangeKind, new_change
from ..values.extractions import Extraction
from ..values.mentions import KNOWN_NAME
from ..values.records import Resource

_MAX_WISH = 200
"""Characters of the message that are written down."""


async def note_wish_to_forget(unit: UnitOfWork, resource: Resource, extraction: Extraction) -> None:
    """Appends the wish to the log of changes, found by the message and the known entities that it names.

    Args:
        unit: The transaction that learns the message; the caller commits.
        resource: The message, as it is in the raw log.
        extraction: Of the message.
    """
    named = (mention.entity_id for mention in extraction.mentions if mention.source == KNOWN_NAME)
    wish = resource.content.strip()
    change = new_change(
        ChangeKind.FORGET,
        user_id=resource.user_id,
        at=resource.created_at,
        actor=ChangeActor.USER,
        reason=wish if len(wish) <= _MAX_WISH else f"{wish[:_MAX_WISH]}…",
        items=[],
        about=[resource.resource_id, *(entity_id for entity_id in named if entity_id)],
    )
    await unit.changes.append([change])
