"""Erasures: what is to be forgotten, and what may be known of it afterwards."""

import hashlib
import json
from datetime import datetime
from enum import StrEnum
from typing import Self

from pydantic import model_validator

from ..base import Timestamp, Value


class ErasureKind(StrEnum):
    """How much of a user's memory an erasure is about."""

    USER = "user"
    """Everything."""
    SESSION = "session"
    """The messages of a session, and what was learned only from them."""
    ITEM = "item"
    """A memory, message, entity, relation, fact or typed memory by its id, and what was learned only from it."""
    PERIOD = "period"
    """The messages of a period, and what was learned only from them."""


class ErasureScope(Value):
    """What is to be forgotten of one user.

    Args:
        session_id: For kind SESSION alone.
        item_id: For kind ITEM alone.
        more: For kind ITEM alone: ids of log entries that go with it.
        messages: For kind ITEM alone: whether the messages that mention the item are forgotten, too.
        anonymise: For kind ITEM alone: messages, their memories and facts stay, without what they said (004 §7.3).
        since: Begin of a PERIOD; None for the beginning of time.
        until: End of a PERIOD, which does not belong to it; None for the time of the erasure.
    """

    kind: ErasureKind
    session_id: str | None = None
    item_id: str | None = None
    more: tuple[str, ...] = ()
    messages: bool = False
    anonymise: bool = False
    since: Timestamp | None = None
    until: Timestamp | None = None

    @model_validator(mode="after")
    def _fields_fit_kind(self) -> Self:
        given = {name for name in _FIELDS if getattr(self, name) is not None}
        wanted = {name for name, kind in _FIELDS.items() if kind is self.kind}
        is_enough = bool(given) if self.kind is ErasureKind.PERIOD else given == wanted
        if not given <= wanted or not is_enough:
            needs = " or ".join(sorted(wanted)) or "nothing else"
            raise ValueError(f"an erasure of kind {self.kind.value} needs {needs}, and no other of {sorted(_FIELDS)}")
        if (self.messages or self.more or self.anonymise) and self.kind is not ErasureKind.ITEM:
            raise ValueError("messages, more and anonymise may be given with kind item alone")
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise ValueError("until must be later than since")
        return self

    def holds(self, at: datetime) -> bool:
        """Whether a time lies in the period."""
        return (self.since is None or self.since <= at) and (self.until is None or at < self.until)


_FIELDS = {
    "session_id": ErasureKind.SESSION,
    "item_id": ErasureKind.ITEM,
    "since": ErasureKind.PERIOD,
    "until": ErasureKind.PERIOD,
}
WHOLE_USER = ErasureScope(kind=ErasureKind.USER)


class ErasureState(StrEnum):
    """The state of an erasure."""

    PENDING = "pending"
    """It is at work, or waits for a store to come back."""
    DONE = "done"


class Receipt(Value):
    """What was erased; holds nothing by which a person could be found without the key of the service.

    Args:
        user: A digest of the user's id with the service's key.
        removed: How much was removed, by store and kind.
        purged: For each store whether its files hold nothing of it any more; false where a server of its own frees
            them in time.
        sha256: Of all the other fields as JSON with sorted keys and without spaces.
    """

    erasure_id: str
    kind: ErasureKind
    user: str
    requested_at: Timestamp
    finished_at: Timestamp
    removed: dict[str, int]
    purged: dict[str, bool]
    sha256: str = ""

    def sealed(self) -> "Receipt":
        """The receipt with its hash."""
        return self.model_copy(update={"sha256": self._digest()})

    @property
    def is_sound(self) -> bool:
        """Whether the hash fits the other fields."""
        return self.sha256 == self._digest()

    def _digest(self) -> str:
        fields = self.model_dump(mode="json", exclude={"sha256"})
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


class Erasure(Value):
    """An erasure as everybody may see it.

    Args:
        user: A digest of the user's id with the service's key.
        attempts: How often it was tried.
        waits_for: The part of the service that kept the last attempt from its end.
        receipt: Once it is done.
    """

    erasure_id: str
    kind: ErasureKind
    user: str
    state: ErasureState
    requested_at: Timestamp
    attempts: int = 0
    waits_for: str | None = None
    receipt: Receipt | None = None


class Tombstone(Value):
    """A finished erasure in digests: enough to find again what a restored backup brought back, and to tell nobody what.

    Args:
        user: A digest of the user's id.
        target: A digest of the id of the session or item; None for a whole user or a period.
        more: Digests of `more` of the scope.
        messages, anonymise: As in the scope.
        since, until: The period.
        erased_at: What was there at that time, and is there again, is to be erased again.
    """

    erasure_id: str
    kind: ErasureKind
    user: str
    target: str | None = None
    more: tuple[str, ...] = ()
    messages: bool = False
    anonymise: bool = False
    since: Timestamp | None = None
    until: Timestamp | None = None
    erased_at: Timestamp
