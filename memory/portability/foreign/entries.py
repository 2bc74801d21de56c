"""What is read of another service's export, and the lines that an import takes it as."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ...values.base import Scalar
from ...values.ids import resource_id
from ...values.records import Resource, ResourceKind
from ...values.understanding.dialogue import Role
from ..lines import Digest, Header, Item, ItemType, to_line

MAX_CHARACTERS = 32_768
"""Of a text, as the service takes them."""


@dataclass(frozen=True)
class Entry:
    """A message or note of another service.

    Args:
        source_id: Its id there.
        session_id: The conversation that it belongs to.
        content: What it says.
        created_at: When it was said; None where the export does not tell.
        role: Who said it.
        kind: A turn of a conversation, or a note.
        speaker: The speaker's name.
        metadata: What else is to be kept with it.
    """

    source_id: str
    session_id: str
    content: str
    created_at: datetime | None
    role: Role = Role.USER
    kind: ResourceKind = ResourceKind.TURN
    speaker: str | None = None
    metadata: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass
class ForeignExport:
    """What an export holds that can be imported, and how much of it cannot, by the reason.

    Args:
        source: The name of the service; ids of entries are told apart by it.
    """

    source: str
    entries: list[Entry] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    def add(self, entry: Entry) -> None:
        """Takes an entry, or counts why not."""
        if not entry.content.strip():
            self.skipped["without text"] += 1
        elif len(entry.content) > MAX_CHARACTERS:
            self.skipped[f"longer than {MAX_CHARACTERS} characters"] += 1
        elif entry.created_at is None:
            self.skipped["without a time"] += 1
        else:
            self.entries.append(entry)

    def counts(self) -> dict[str, int]:
        """The number of entries of each kind."""
        return dict(Counter(entry.kind.value for entry in self.entries))

    def lines(self, *, user_id: str, version: str, now: datetime) -> Iterator[bytes]:
        """The lines of an export of Jiyi's with the entries in order of time, each of which waits for the learner.

        Ids depend on the user, the service, the session, the id there and the content: importing the same again changes
        nothing, and what was edited there meanwhile is new.

        Args:
            user_id: Whose they become, by their own id.
            version: That of Jiyi.
            now: The time, for the header.
        """
        digest = Digest()
        yield to_line(Header(jiyi=version, user_id=user_id, created_at=now))
        resources = {resource.resource_id: resource for resource in self._resources(user_id)}
        for resource in resources.values():
            line = Item(ItemType.RESOURCE, resource, learned=False).to_line()
            digest.add(ItemType.RESOURCE, line)
            yield line
        yield to_line(digest.end())

    def _resources(self, user_id: str) -> Iterator[Resource]:
        for entry in sorted(self.entries, key=lambda entry: entry.created_at or datetime.min.replace(tzinfo=UTC)):
            content = hashlib.sha256(entry.content.encode()).hexdigest()[:16]
            session_id = entry.session_id[:128] or self.source
            yield Resource(
                resource_id=resource_id(user_id, session_id, f"{self.source}:{entry.source_id}:{content}"),
                user_id=user_id,
                session_id=session_id,
                kind=entry.kind,
                role=entry.role,
                speaker=entry.speaker,
                content=entry.content,
                metadata=dict(entry.metadata),
                created_at=entry.created_at or datetime.min.replace(tzinfo=UTC),
            )


class NotThisFormat(ValueError):
    """A file is no export of the service; says what was expected."""


def listed(value: Any, what: str) -> list[Mapping[str, Any]]:
    """A list of objects.

    Raises:
        NotThisFormat: It is something else.
    """
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(isinstance(one, Mapping) for one in value):
        raise NotThisFormat(f"{what}: expected a list of objects")
    return list(value)


def time_of(value: Any) -> datetime | None:
    """A time from ISO 8601 (UTC where it has no zone) or seconds since 1970; None for anything else."""
    try:
        if isinstance(value, str):
            read = datetime.fromisoformat(value)
            return read if read.tzinfo else read.replace(tzinfo=UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def text_of(content: Any) -> str:
    """The text of a message's content: a text, or the parts of a list that are text."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part if isinstance(part, str) else part.get("text") for part in parts if isinstance(part, str | Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str) and text.strip())
