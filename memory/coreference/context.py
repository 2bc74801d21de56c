"""What a message is read in: the last turns, and the names that long-term memory offers (000 §6.4, DESIGN §3)."""

from collections.abc import Collection, Sequence

from ..language.time_windows import TimeWindow
from ..values.entities import Entity
from ..values.text import normalise
from ..values.understanding.dialogue import Role, Turn
from ..values.understanding.readings import Context

TURNS = 12
"""Turns that the reader is given; it reads the first and the latest ones that fit (`models.reader.features`)."""
NAMES = 5
"""Names of long-term memory that it is given, as in its training."""


def context_turns(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The last turns without the assistant's stock phrases, in which nothing can be referred to."""
    return tuple(turn for turn in turns if turn.role is Role.USER or turn.mentions != ())[-TURNS:]


def reading_context(turns: Sequence[Turn], offered: Sequence[Entity]) -> Context:
    """The context in which the next message of a conversation is read.

    Args:
        turns: Of the session, oldest first.
        offered: Entities of long-term memory, most likely first; those that a turn names are left out.
    """
    texts = tuple(turn.content for turn in context_turns(turns))
    contents = [normalise(text) for text in texts]
    names = [
        entity.entity_value
        for entity in offered
        if entity.is_current and not any(normalise(entity.entity_value) in content for content in contents)
    ]
    return Context(turns=texts, names=tuple(names[:NAMES]))


def offered_entities(
    recent: Sequence[Entity], *, window: TimeWindow | None = None, spoken_of: Collection[str] = ()
) -> tuple[Entity, ...]:
    """The entities that the user has mentioned, those of a time window first; preloaded ones are left out.

    Args:
        recent: Latest mentioned first.
        window: The time that the message names (上週提到的), if any.
        spoken_of: Ids of the entities in memories of that time.
    """
    mentioned = [entity for entity in recent if not entity.is_unseen_seed]
    if window is None:
        return tuple(mentioned)
    return tuple(
        sorted(
            mentioned,
            key=lambda entity: (
                not (
                    entity.entity_id in spoken_of
                    or window.holds(entity.last_mentioned)
                    or window.holds(entity.first_mentioned)
                )
            ),
        )
    )
