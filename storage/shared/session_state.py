"""How a session changes with a turn: the rules that every session store follows (000 §4.3)."""

from collections.abc import Sequence
from datetime import datetime

from memory.ports.stores.sessions import COREFERENCE_HISTORY, DEIXIS_WORDS, HISTORY_TURNS, MENTIONED_ENTITIES
from memory.values.understanding.dialogue import HistoryEntry, Session, SessionContext, Turn
from memory.values.understanding.resolutions import Clarification, CoreferenceResolution, ReferenceSource, Revision

_MAX_QUERY = 1000
"""Characters of a query that a later message may correct; of a longer one the offsets are not kept."""


def new_context(session_id: str, *, user_id: str, now: datetime, turns: Sequence[Turn] = ()) -> SessionContext:
    """The context of a session that starts now; of one that has only its turns left, by the times of these."""
    started_at, last_activity = (turns[0].created_at, turns[-1].created_at) if turns else (now, now)
    return SessionContext(session_id=session_id, user_id=user_id, started_at=started_at, last_activity=last_activity)


def history_entries(
    resolutions: Sequence[CoreferenceResolution], *, asked: Clarification | None = None, query: str = ""
) -> list[HistoryEntry]:
    """What `SessionContext.coreference_history` keeps of resolutions, and of a question about a reference.

    Args:
        resolutions: In order.
        asked: The question, if any.
        query: The text that they have offsets into.
    """
    entries = [_resolved_entry(resolution) for resolution in resolutions]
    placed: Sequence[CoreferenceResolution | Clarification] = resolutions
    if asked:
        entries.append(_asked_entry(asked))
        placed = [*resolutions, asked]
    if not 0 < len(query) <= _MAX_QUERY:
        return entries
    return [
        {**entry, "query": query, "start": place.start, "end": place.end}
        for entry, place in zip(entries, placed, strict=True)
    ]


def _resolved_entry(resolution: CoreferenceResolution) -> HistoryEntry:
    name = resolution.resolved_text
    before, found, after = resolution.written.partition(name) if name else ("", "", "")
    return {
        "original_text": resolution.original_text,
        "resolved_text": name,
        "entity_id": resolution.entity_id,
        "source": resolution.source.value,
        "confidence": resolution.confidence,
        **({"before": before.lstrip(), "after": after.rstrip()} if found else {}),
    }


def _asked_entry(asked: Clarification) -> HistoryEntry:
    return {
        "original_text": asked.original_text,
        "resolved_text": "",
        "entity_id": None,
        "source": ReferenceSource.SESSION.value,
        "confidence": 0.0,
        "before": asked.before,
        "after": asked.after,
        "options": tuple(option.text for option in asked.options),
    }


def with_correction(history: Sequence[HistoryEntry], revision: Revision | None) -> tuple[HistoryEntry, ...]:
    """The history, with the latest entry that a revision rejects marked with its correction."""
    entries = list(history)
    if revision is None or revision.rejected is None:
        return tuple(entries)
    rejected = (revision.resolution.original_text, revision.rejected.text)
    for position, entry in reversed(list(enumerate(entries))):
        if (entry.get("original_text"), entry.get("resolved_text")) == rejected and not entry.get("corrected"):
            entries[position] = {**entry, "corrected": revision.resolution.resolved_text}
            break
    return tuple(entries)


def last_referred(referred: str | None, resolutions: Sequence[CoreferenceResolution]) -> str | None:
    """The entity that was referred to last: `referred`, else that of the last resolution with one."""
    return referred or next(
        (resolution.entity_id for resolution in reversed(resolutions) if resolution.entity_id is not None), None
    )


def bounded(context: SessionContext) -> SessionContext:
    """The context with each entity once, where mentioned last, and the latest entries of every list, oldest first."""
    latest_once = tuple(reversed(dict.fromkeys(reversed(context.mentioned_entities))))
    return context.model_copy(
        update={
            "mentioned_entities": latest_once[-MENTIONED_ENTITIES:],
            "coreference_history": context.coreference_history[-COREFERENCE_HISTORY:],
            "deixis": context.deixis[-DEIXIS_WORDS:],
        }
    )


def appended(
    session: Session,
    *,
    turns: Sequence[Turn],
    mentioned: Sequence[str],
    resolutions: Sequence[CoreferenceResolution],
    deixis: Sequence[str],
    referred: str | None,
    revision: Revision | None,
    asked: Clarification | None,
    query: str,
    to_forget: Sequence[Sequence[str]],
    now: datetime,
) -> Session:
    """The session after an append (`memory.ports.stores.sessions.SessionStore.append`).

    Where the session has all turns already, the call is a repetition: only mentions and times are updated.
    """
    context = session.context
    history = list(session.turns)
    for turn in turns:
        if turn.turn_id is None or all(turn.turn_id != known.turn_id for known in history):
            history.append(turn)
    repeated = bool(turns) and len(history) == len(session.turns)
    changes: dict[str, object] = {
        "mentioned_entities": (*context.mentioned_entities, *mentioned),
        "last_referred_entity": last_referred(referred, resolutions) or context.last_referred_entity,
        "to_forget": tuple(map(tuple, to_forget)),
        "last_activity": now,
    }
    if not repeated:
        changes |= {
            "coreference_history": (
                *with_correction(context.coreference_history, revision),
                *history_entries(resolutions, asked=asked, query=query),
            ),
            "deixis": (*context.deixis, *deixis),
        }
    return Session(context=bounded(context.model_copy(update=changes)), turns=tuple(history[-HISTORY_TURNS:]))


def with_earlier(session: Session, earlier: Sequence[Turn]) -> Session:
    """The session with earlier turns before its own; of a turn in both, its own version stays."""
    own = {turn.turn_id: turn for turn in session.turns if turn.turn_id is not None}
    first = [own.pop(turn.turn_id, turn) if turn.turn_id else turn for turn in earlier]
    rest = [turn for turn in session.turns if turn.turn_id is None or turn.turn_id in own]
    return session.model_copy(update={"turns": (*first, *rest)[-HISTORY_TURNS:]})
