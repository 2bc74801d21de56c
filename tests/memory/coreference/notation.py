"""A conversation in one line, and readings in the notation of the chat corpus: `{它|AI-Box}多少錢？`."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from memory.coreference.context import context_turns, reading_context
from memory.coreference.resolver import ReadingResolver
from memory.values.entities import Entity
from memory.values.ids import entity_id
from memory.values.text import normalise
from memory.values.understanding.dialogue import HistoryEntry, Role, Turn
from memory.values.understanding.extractions import Extraction
from memory.values.understanding.mentions import EntitySubtype, Mention
from memory.values.understanding.readings import Action, ContextSpan, Intent, Replacement, Rewrite
from memory.values.understanding.resolutions import CoreferenceResult, ResolutionRequest
from storage.shared.session_state import history_entries
from testing.fakes.reader import names_in

NOW = datetime(2026, 2, 4, 12, tzinfo=UTC)
"""A Wednesday."""
USER = "user-1"
SURE = 0.95
_EDIT = re.compile(r"\{([^|{}]*)\|([^|{}]*)(?:\|([^{}]*))?\}")
_ASKED = re.compile(r"\{([^|{}]*)\|\?([^{}|]*)(?:\|([^{}]*))?\}")


def entity(value: str, subtype: EntitySubtype | None = None, **fields: object) -> Entity:
    """An entity that was mentioned once."""
    given = {"first_mentioned": NOW, "last_mentioned": NOW, "mention_count": 1} | fields
    return Entity.model_validate(
        {
            "entity_id": entity_id(USER, value),
            "user_id": USER,
            "entity_value": value,
            "normalised_value": normalise(value),
            "subtype": subtype,
        }
        | given
    )


def mentions_in(text: str) -> tuple[Mention, ...]:
    """The names that the fake reader knows, with the ids of their entities."""
    return tuple(
        Mention(
            text=text[name.start : name.end],
            start=name.start,
            end=name.end,
            subtype=name.subtype,
            entity_id=entity_id(USER, text[name.start : name.end]),
        )
        for name in names_in(text)
    )


def request(query: str, turns: Sequence[str] = (), **fields: object) -> ResolutionRequest:
    """The user speaks first, then the assistant, in turn."""
    conversation = tuple(
        Turn(
            role=Role.ASSISTANT if at % 2 else Role.USER,
            content=text,
            created_at=NOW - timedelta(minutes=len(turns) - at),
            mentions=None if at % 2 else mentions_in(text),
        )
        for at, text in enumerate(turns)
    )
    return ResolutionRequest.model_validate(
        {"query": query, "user_id": USER, "turns": conversation, "now": NOW} | fields
    )


def read(
    marked: str,
    turns: Sequence[str] = (),
    *,
    names: Sequence[str] = (),
    confidence: float = SURE,
    intents: Sequence[Intent] = (),
) -> tuple[str, Extraction]:
    """A query and what the reader makes of it.

    Args:
        marked: `{它|AI-Box}`, `{her|Alice|Alice's}` with what is written, `{他們|小王+小李|小王和小李}` with several
            antecedents, `{|HCI-500}` for a gap, `{它|?A?B}` for a question with its options.
        turns: The conversation; an antecedent stands where it occurs last.
        names: What long-term memory offered.
        confidence: Of every edit, and of all together.
        intents: Of the query.
    """
    query, rewritten, replacements, position = "", "", [], 0
    asks = _ASKED.search(marked) is not None
    for match in (_ASKED if asks else _EDIT).finditer(marked):
        query += marked[position : match.start()]
        rewritten += marked[position : match.start()]
        spans = [_span(text, turns, names) for text in re.split(r"[?]" if asks else r"[+]", match[2])]
        written = match[3] if match[3] is not None else match[2] if len(spans) == 1 else spans[0].text
        replacements.append(
            Replacement(
                start=len(query),
                end=len(query) + len(match[1]),
                written=written,
                antecedents=tuple(spans[:1] if asks else spans),
                confidence=confidence,
                alternatives=tuple(spans[1:] if asks else ()),
            )
        )
        query += match[1]
        rewritten += written
        position = match.end()
    query += marked[position:]
    rewritten += marked[position:]
    action = Action.ASK if asks else Action.REWRITE if replacements else Action.KEEP
    rewrite = Rewrite(
        action=action,
        text=rewritten if action is Action.REWRITE else query,
        replacements=tuple(replacements),
        confidence=confidence,
    )
    return query, Extraction(mentions=mentions_in(query), rewrite=rewrite, intents=tuple(intents))


def _span(text: str, turns: Sequence[str], names: Sequence[str]) -> ContextSpan:
    for turn in reversed(range(len(turns))):
        if (start := turns[turn].rfind(text)) >= 0:
            return ContextSpan(text=text, turn=turn, start=start, end=start + len(text), probability=SURE)
    start = "、".join(names).find(text)
    assert start >= 0, f"{text!r} stands nowhere"
    return ContextSpan(text=text, turn=None, start=start, end=start + len(text), probability=SURE)


async def resolve(
    marked: str,
    *turns: str,
    long_term: Sequence[Entity] = (),
    confidence: float = SURE,
    floor: float = 0.5,
    history: Sequence[HistoryEntry] = (),
    intents: Sequence[Intent] = (),
) -> CoreferenceResult:
    """Resolves a marked query after at most `memory.coreference.context.TURNS` turns."""
    conversation = request("", turns).turns
    context = reading_context(conversation, long_term)
    assert len(context_turns(conversation)) == len(turns)
    query, extraction = read(marked, turns, names=context.names, confidence=confidence, intents=intents)
    asked = request(query, turns, long_term=tuple(long_term), history=tuple(history))
    return await ReadingResolver(floor=floor).resolve(asked, extraction)


def remembered(result: CoreferenceResult) -> list[HistoryEntry]:
    """What the session's history keeps of a result."""
    revision = result.revision
    resolutions = [*result.resolutions, *((revision.resolution,) if revision else ())]
    query = revision.query if revision else result.original_query
    return history_entries(resolutions, asked=result.clarification, query=query)
