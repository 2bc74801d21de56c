"""Which memories a request to forget means as the answer reader reads them: also those it names in other words."""

from collections.abc import Sequence

import structlog

from ..ports.models.answer_reading import MAX_ANSWER_LINES, AnswerReader, AnswerReadRequest, DatedLine, LineReading
from ..values.errors import Unavailable
from ..values.governance.forgetting import ForgetRequest
from ..values.records import Memory
from .forget_matches import Match, Matches, likely_places, with_reading
from .forget_targets import ForgetTarget

_log = structlog.get_logger(__name__)

MAX_READ = 4 * MAX_ANSWER_LINES
"""Memories that are read for one request: half of them the best by words, the others the latest."""


async def read_matches(
    matches: Sequence[Match], request: ForgetRequest, target: ForgetTarget, *, reader: AnswerReader
) -> Matches | None:
    """What a request means as a reader reads it over what was said; None where it cannot read, or nothing was said.

    Where more was said than is read at once, it is read in parts, and the likeliest of all parts together.

    Args:
        matches: By words, best first.
        request: The message.
        target: What it is about; where that is everything, all facts of a memory are meant.
        reader: Reads it.
    """
    of_memory = {match.memory.memory_id: match for match in matches if match.memory}
    memories = [match.memory for match in matches if match.memory]
    latest = sorted(memories, key=lambda memory: memory.created_at, reverse=True)
    chosen = {memory.memory_id: memory for memory in (*memories[: MAX_READ // 2], *latest)}
    read = list(chosen.values())[:MAX_READ]
    try:
        if len(read) > MAX_ANSWER_LINES:
            found = await _read(read, request, target, reader)
            read = sorted(read, key=lambda memory: -found[memory.memory_id].meant)[:MAX_ANSWER_LINES]
        found = await _read(read, request, target, reader)
    except Unavailable as error:
        _log.warning("forget_request_not_read", error=error.message)
        return None
    places, is_sure = likely_places([found[memory.memory_id].meant for memory in read], everything=target.everything)
    likely = [(read[place], found[read[place].memory_id]) for place in places]
    scored = [
        with_reading(
            of_memory[memory.memory_id],
            line.meant,
            "" if target.everything else (memory.resolved or memory.text)[line.start : line.end],
        )
        for memory, line in likely
    ]
    best_first = tuple(sorted(scored, key=lambda match: -match.score))
    return Matches(best_first, is_sure=is_sure, is_read=True) if read else None


async def _read(
    memories: Sequence[Memory], request: ForgetRequest, target: ForgetTarget, reader: AnswerReader
) -> dict[str, LineReading]:
    """What the reader says of each memory, by its id; parts are of neighbours in time."""
    ordered = sorted(memories, key=lambda memory: memory.created_at)
    parts = [ordered[start : start + MAX_ANSWER_LINES] for start in range(0, len(ordered), MAX_ANSWER_LINES)]
    readings = await reader.read(
        [
            AnswerReadRequest(
                question=target.text,
                lines=tuple(
                    DatedLine(text=memory.resolved or memory.text, said_at=memory.created_at) for memory in part
                ),
                now=request.message.created_at,
            )
            for part in parts
        ]
    )
    return {
        memory.memory_id: line
        for part, reading in zip(parts, readings, strict=True)
        for memory, line in zip(part, reading.lines, strict=True)
    }
