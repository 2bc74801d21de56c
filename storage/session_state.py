"""How a session changes when something is said: the rules that every session store follows (000 §4.3)."""

from collections.abc import Sequence
from datetime import datetime

from memory.coreference.resolutions import CoreferenceResolution
from memory.dialogue import Session, SessionContext, Turn
from memory.ports.sessions import COREFERENCE_HISTORY, DEIXIS_WORDS, HISTORY_TURNS, MENTIONED_ENTITIES


def new_context(session_id: str, *, user_id: str, now: datetime) -> SessionContext:
    """The context of a session that starts now."""
    return SessionContext(session_id=session_id, user_id=user_id, started_at=now, last_activity=now)


def history_entry(resolution: CoreferenceResolution) -> dict[str, str | float | None]:
    """What `SessionContext.coreference_history` keeps of a resolution."""
    return {
        "original_text": resolution.original_text,
        "resolved_text": resolution.resolved_text,
        "entity_id": resolution.entity_id,
        "source": resolution.source.value,
        "confidence": resolution.confidence,
    }


def last_referred(resolutions: Sequence[CoreferenceResolution]) -> str | None:
    """The entity that the last of these resolutions with one refers to."""
    return next((one.entity_id for one in reversed(resolutions) if one.entity_id is not None), None)


def appended(
    session: Session,
    *,
    turns: Sequence[Turn],
    mentioned: Sequence[str],
    resolutions: Sequence[CoreferenceResolution],
    deixis: Sequence[str],
    now: datetime,
) -> Session:
    """The session after an append (`memory.ports.sessions.SessionStore.append`)."""
    context = session.context
    history = list(session.turns)
    for turn in turns:
        if turn.turn_id is None or all(turn.turn_id != known.turn_id for known in history):
            history.append(turn)
    latest_once = dict.fromkeys(reversed((*context.mentioned_entities, *mentioned)))
    entries = (*context.coreference_history, *map(history_entry, resolutions))
    changes = {
        "mentioned_entities": tuple(reversed(latest_once))[-MENTIONED_ENTITIES:],
        "last_referred_entity": last_referred(resolutions) or context.last_referred_entity,
        "coreference_history": entries[-COREFERENCE_HISTORY:],
        "deixis": (*context.deixis, *deixis)[-DEIXIS_WORDS:],
        "last_activity": now,
    }
    return Session(context=context.model_copy(update=changes), turns=tuple(history[-HISTORY_TURNS:]))
