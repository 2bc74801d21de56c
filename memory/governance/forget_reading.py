"""Which memories a request to forget means as the answer reader reads them: also those it names in other words."""

from collections.abc import Sequence
from itertools import islice

import structlog

from ..ports.models.answer_reading import AnswerReader, AnswerReadRequest, DatedLine
from ..values.errors import Unavailable
from ..values.evidence import ANSWERS
from ..values.governance.forgetting import ForgetRequest
from .forget_matches import Match, with_reading
from .forget_targets import ForgetTarget

_log = structlog.get_logger(__name__)


async def read_matches(
    matches: Sequence[Match], request: ForgetRequest, target: ForgetTarget, *, reader: AnswerReader
) -> list[Match] | None:
    """The matches by what a reader says and by their words, best first; None where it cannot read.

    The request is read as the question, over the best memories: what answers it is what it is about.

    Args:
        matches: By words, best first.
        request: The message.
        target: What it is about; where that is everything, all facts of a memory are meant.
        reader: Reads it.
    """
    said = list(islice((match.memory for match in matches if match.memory), ANSWERS.lines))
    if not said:
        return list(matches)
    lines = tuple(DatedLine(text=memory.resolved or memory.text, said_at=memory.created_at) for memory in said)
    read_request = AnswerReadRequest(question=target.text, lines=lines, now=request.message.created_at)
    try:
        [reading] = await reader.read([read_request])
    except Unavailable as error:
        _log.warning("forget_request_not_read", error=error.message)
        return None
    read = {
        memory.memory_id: (of_line.answers, "" if target.everything else line.text[of_line.start : of_line.end])
        for memory, line, of_line in zip(said, lines, reading.lines, strict=True)
    }
    scored = [
        with_reading(each, *read.get(each.memory.memory_id, (0.0, ""))) if each.memory else each for each in matches
    ]
    return sorted(scored, key=lambda match: -match.score)
