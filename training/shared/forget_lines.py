"""Reads the `forgets` folders of chat corpora: what users said, and between it requests to forget some of it.

The format is described in the corpus' README.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from .chat_corpus import blocks, files_of, language_of
from .data_sets import Part

_SAID = re.compile(r"\d+ (.+)")
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class ForgetLine:
    """What a user sent.

    Attributes:
        language: Of `chat_corpus.LANGUAGES`.
        at: When; the lines of a day follow each other by minutes.
        text: The message.
        meant: Of a request to forget, by the number (from 0) of each line said before that it means, 1, or 0.5 where it
            means either; None of a line that was said.
    """

    language: str
    at: datetime
    text: str
    meant: dict[int, float] | None = None


def read_forget_lines(folders: Sequence[Path], part: Part) -> list[list[ForgetLine]]:
    """The lines of each user of a part, in the order in which they were sent."""
    return [
        list(_lines(block, language_of(path))) for path in files_of(folders, "forgets", part) for block in blocks(path)
    ]


def _lines(block: Sequence[tuple[int, str]], language: str) -> Iterator[ForgetLine]:
    at = datetime.min.replace(tzinfo=UTC)
    for _, line in block:
        if line.startswith("@ "):
            at = datetime.strptime(line[2:].strip(), "%Y-%m-%d").replace(tzinfo=UTC, hour=12)
        elif line.startswith("R: "):
            text, _, numbers = line[3:].rpartition("=>")
            share = 0.5 if "/" in numbers else 1.0
            meant = {int(number) - 1: share for number in re.findall(r"[1-9]\d*", numbers)}
            yield ForgetLine(language, at, text.strip(), meant)
        elif found := _SAID.match(line):
            yield ForgetLine(language, at, found.group(1))
        at += _MINUTE
