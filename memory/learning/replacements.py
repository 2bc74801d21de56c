"""Which memories a message replaces: what they say holds no longer after it (002 §3.3, DESIGN §6).

Facts are replaced by subject and predicate (`memory.facts.evolving`); but "typo, it's 24 pages" states no fact that
anything else states, and much of what was said before states none at all. So the message is read beside what was said
before, and the memory that it replaces gets the id of its log entry (`Memory.replaced_by`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..language.keywords import KeywordAnalyzer
from ..language.questions import only_asks
from ..ports.models.answer_reading import AnswerReader, AnswerReadRequest, DatedLine
from ..ports.models.language import Priority
from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..values.ids import memory_id
from ..values.records import Memory
from ..values.understanding.dialogue import Role
from .learned_turns import LearnedTurn

MAX_READ = 12
"""Lines that are read beside a message: half of them those that share most words with it, the others the latest."""
REPLACED_FROM = 0.6
"""The share of probability from which on a line is replaced; chosen on the tuning part."""
_SEARCHED = 500
"""So many of the latest memories are searched."""


async def with_replaced(
    turns: Sequence[LearnedTurn],
    user_id: str,
    *,
    record: SystemOfRecord,
    reader: AnswerReader,
    analyzer: KeywordAnalyzer,
) -> list[LearnedTurn]:
    """The turns with the memories that they replace: of what is stored, and of the turns before them.

    Args:
        turns: As they were extracted, in the order of the log.
        user_id: The user.
        record: Stores the memories.
        reader: Reads the turns that may change something.
        analyzer: Splits texts into terms.
    """
    changing = [place for place, turn in enumerate(turns) if turn.may_change]
    if not changing:
        return list(turns)
    async with record.reading(user_id=user_id) as unit:
        stored = await unit.memories.recent(limit=_SEARCHED)
    lines = {memory.memory_id: _line_of(memory) for memory in reversed(stored) if _is_read(memory)}
    requests: list[tuple[int, list[str], AnswerReadRequest]] = []
    for place, turn in enumerate(turns):
        if turn.may_change and lines:
            chosen = choose_lines(turn.resource.content, lines, analyzer)
            request = AnswerReadRequest(
                question=turn.resource.content,
                lines=tuple(lines[id_] for id_ in chosen),
                now=turn.resource.created_at,
            )
            requests.append((place, chosen, request))
        if turn.is_said:
            resource = turn.resource
            lines[memory_id(user_id, resource.resource_id)] = DatedLine(
                text=resource.content, said_at=resource.created_at
            )
    readings = await reader.read([request for *_, request in requests], priority=Priority.BATCH)
    found = list(turns)
    for (place, chosen, _), reading in zip(requests, readings, strict=True):
        replaced = [id_ for id_, line in zip(chosen, reading.lines, strict=True) if line.replaced >= REPLACED_FROM]
        found[place] = replace(found[place], replaces=tuple(replaced))
    return found


def choose_lines(message: str, lines: Mapping[str, DatedLine], analyzer: KeywordAnalyzer) -> list[str]:
    """The keys of the lines to read beside a message, oldest first.

    Args:
        message: What may replace some of them.
        lines: All that was said before it, oldest first.
        analyzer: Splits texts into terms.
    """
    keys = list(lines)
    if len(keys) <= MAX_READ:
        return keys
    terms = analyzer.content_terms(message)
    shared = {key: len(terms & analyzer.content_terms(lines[key].text)) for key in keys}
    latest_first = keys[::-1]
    alike = sorted(latest_first, key=lambda key: -shared[key])[: MAX_READ // 2]
    chosen = set(list(dict.fromkeys([*alike, *latest_first]))[:MAX_READ])
    return [key for key in keys if key in chosen]


async def mark_replaced(unit: UnitOfWork, turns: Sequence[LearnedTurn]) -> None:
    """Marks the memories that the turns replace, and those which these had replaced; the caller commits."""
    for turn in turns:
        if not turn.replaces:
            continue
        replaced = await unit.memories.get(turn.replaces)
        entries = {memory.resource_id for memory in replaced}
        before = [memory for memory in await unit.memories.recent(limit=_SEARCHED) if memory.replaced_by in entries]
        by = {"replaced_by": turn.resource.resource_id}
        await unit.memories.save([memory.model_copy(update=by) for memory in (*replaced, *before)])


def _is_read(memory: Memory) -> bool:
    return memory.role is Role.USER and memory.replaced_by is None and not only_asks(memory.text)


def _line_of(memory: Memory) -> DatedLine:
    return DatedLine(text=memory.resolved or memory.text, said_at=memory.created_at)
