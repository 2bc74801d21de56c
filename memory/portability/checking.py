"""Reads a file from end to end, before anything of it is written."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from ..values.access.identity import stored_user
from .lines import FORMAT, MAX_CHANGE_BYTES, Digest, End, Header, Item, ItemType, parse_line, refused
from .renaming import Renaming

_ORDER = {type_: place for place, type_ in enumerate(ItemType)}


@dataclass(frozen=True)
class Line:
    """A line of a file: its number, counted from 1, the byte at which it begins, and what it holds."""

    number: int
    offset: int
    content: Header | Item | End
    text: bytes


@dataclass(frozen=True)
class CheckedFile:
    """What a sound file says of itself.

    Args:
        header: Its first line.
        unlearned: Where the first log entry is that waits for the learner; None where none does.
        source: The stored id of its user.
        renaming: Where its values do not say already that they are of the user who gets them.
    """

    header: Header
    source: str
    unlearned: Line | None
    renaming: Renaming | None


def read_lines(file: BinaryIO, begin: Line | None = None) -> Iterator[Line]:
    """The lines of a file, or those from `begin` on.

    Raises:
        InvalidField: A line is no line of an export.
    """
    number, offset = (begin.number, begin.offset) if begin else (1, 0)
    file.seek(offset)
    while text := file.readline(MAX_CHANGE_BYTES + 1):
        yield Line(number, offset, parse_line(text, number), text)
        offset += len(text)
        number += 1


def check_file(file: BinaryIO, *, user_id: str) -> CheckedFile:
    """Checks everything that can be known of a file without a store. It keeps a number for each id, no values.

    Args:
        file: A file that can be read again.
        user_id: Whose memory its values are to become.

    Raises:
        InvalidField: Something is not as an export has it; names the line and the field.
    """
    lines = read_lines(file)
    first = next(lines, None)
    if first is None or not isinstance(first.content, Header):
        raise refused(1, "type", "is not that of a header", "header")
    header = first.content
    if header.format != FORMAT:
        raise refused(1, "format", f"is {header.format}, which this version cannot read", str(FORMAT))
    source = stored_user(header.app, header.user_id)
    renaming = None if header.user_id == source == user_id else Renaming(source, user_id)
    check = _Check(header, renaming)
    number = 1
    for line in lines:
        number = line.number
        match line.content:
            case Item():
                check.take(line, line.content)
            case End():
                _check_end(line.number, line.content, check.digest.end())
                if more := next(lines, None):
                    raise refused(more.number, "", "comes after the end", "nothing")
                return CheckedFile(header, source, check.unlearned, renaming)
            case Header():
                raise refused(number, "type", "is that of a second header", "one header")
    raise refused(number + 1, "", "is missing: the file is not whole", "the line of type end")


class _Check:
    """What has been seen of a file."""

    def __init__(self, header: Header, renaming: Renaming | None) -> None:
        self.digest = Digest()
        self.unlearned: Line | None = None
        self._header = header
        self._renaming = renaming
        self._place = 0
        self._seen: set[int] = set()

    def take(self, line: Line, item: Item) -> None:
        """Checks an item against those before it."""
        if _ORDER[item.type] < self._place:
            raise refused(line.number, "type", "comes too late", f"this order: {', '.join(ItemType)}")
        self._place = _ORDER[item.type]
        if item.user_id != self._header.user_id:
            raise refused(line.number, "value.user_id", "is another than that of the header", self._header.user_id)
        key = hash((item.type, item.item_id))
        if key in self._seen:
            raise refused(line.number, "value", f"has the id {item.item_id!r} of an earlier line", "each id once")
        self._seen.add(key)
        if item.type is ItemType.RELATION:
            for field in ("source_entity_id", "target_entity_id"):
                if hash((ItemType.ENTITY, getattr(item.value, field))) not in self._seen:
                    raise refused(line.number, f"value.{field}", "is no entity of this file", "the id of an entity")
        if item.type is ItemType.RESOURCE and not item.learned and self.unlearned is None:
            self.unlearned = line
        if self._renaming is not None:
            self._renaming.learn(item)
        self.digest.add(item.type, line.text)


def _check_end(number: int, stated: End, found: End) -> None:
    if stated.counts != found.counts:
        counts = ", ".join(f"{count} {type_.value}" for type_, count in found.counts.items())
        raise refused(number, "counts", f"differ from the lines: {counts}", "the number of lines of each type")
    if stated.sha256 != found.sha256:
        raise refused(number, "sha256", "is not that of the lines: the file was changed", found.sha256)
