"""Which memories a message replaces: what they say holds no longer after it (002 §3.3, DESIGN §6).

Facts are replaced by subject and predicate (`memory.facts.evolving`); but "typo, it's 24 pages" states no fact that
anything else states, and much of what was said before states none at all. So the message is read beside what was said
before, and the memory that it replaces gets the id of its log entry (`Memory.replaced_by`).
"""

from collections import defaultdict
from collections.abc import Sequence
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

    What a replaced memory had replaced itself is replaced by the newest.

    Args:
        turns: As they were extracted, in the order of the log.
        user_id: The user.
        record: Stores the memories.
        reader: Reads the turns that may change something.
        analyzer: Splits texts into terms.
    """
    if not any(turn.may_change for turn in turns):
        return list(turns)
    async with record.reading(user_id=user_id) as unit:
        stored = await unit.memories.recent(limit=_SEARCHED)
    said = [(memory.memory_id, _line_of(memory)) for memory in reversed(stored) if _is_read(memory)]
    beside: dict[int, list[str]] = {}
    requests = []
    for place, turn in enumerate(turns):
        resource = turn.resource
        if turn.may_change and said:
            places = choose_lines(resource.content, [line.text for _, line in said], analyzer)
            chosen = [said[number] for number in places]
            lines = tuple(line for _, line in chosen)
            requests.append(AnswerReadRequest(question=resource.content, lines=lines, now=resource.created_at))
            beside[place] = [id_ for id_, _ in chosen]
        if turn.is_said:
            line = DatedLine(text=resource.content, said_at=resource.created_at)
            said.append((memory_id(user_id, resource.resource_id), line))
    readings = await reader.read(requests, priority=Priority.BATCH)
    earlier: dict[str, list[str]] = defaultdict(list)  # by a memory's id, the memories that it has replaced
    for memory in stored:
        if memory.replaced_by:
            earlier[memory_id(user_id, memory.replaced_by)].append(memory.memory_id)
    found = list(turns)
    for (place, ids), reading in zip(beside.items(), readings, strict=True):
        read = [id_ for id_, line in zip(ids, reading.lines, strict=True) if line.replaced >= REPLACED_FROM]
        replaced = [*read, *(before for id_ in read for before in earlier[id_])]
        earlier[memory_id(user_id, turns[place].resource.resource_id)] = replaced
        found[place] = replace(found[place], replaces=tuple(dict.fromkeys(replaced)))
    return found


def choose_lines(message: str, said: Sequence[str], analyzer: KeywordAnalyzer) -> list[int]:
    """The places of the lines to read beside a message, oldest first.

    Args:
        message: What may replace some of them.
        said: All that was said before it, oldest first.
        analyzer: Splits texts into terms.
    """
    latest_first = range(len(said))[::-1]
    if len(said) <= MAX_READ:
        return sorted(latest_first)
    terms = analyzer.content_terms(message)
    alike = sorted(latest_first, key=lambda place: -len(terms & analyzer.content_terms(said[place])))[: MAX_READ // 2]
    return sorted(list(dict.fromkeys([*alike, *latest_first]))[:MAX_READ])


async def mark_replaced(unit: UnitOfWork, turns: Sequence[LearnedTurn]) -> None:
    """Marks the memories that the turns replace; the caller commits."""
    for turn in turns:
        if turn.replaces:
            by = {"replaced_by": turn.resource.resource_id}
            replaced = await unit.memories.get(turn.replaces)
            await unit.memories.save([memory.model_copy(update=by) for memory in replaced])


def _is_read(memory: Memory) -> bool:
    return memory.role is Role.USER and memory.replaced_by is None and not only_asks(memory.text)


def _line_of(memory: Memory) -> DatedLine:
    return DatedLine(text=memory.resolved or memory.text, said_at=memory.created_at)
