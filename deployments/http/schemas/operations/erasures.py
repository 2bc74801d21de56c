"""Request and reply bodies of `/erasures` and `DELETE /users/{user_id}`."""

from typing import Annotated, Self

from pydantic import Field, JsonValue, model_validator

from memory.values.governance.erasures import Erasure, ErasureKind, ErasureScope, Tombstone

from ..fields import Flag, Identifier, RequestModel, Time, examples
from ..users import User

MAX_TOMBSTONES = 1_000


_FIELDS = ("session_id", "item_id", "since", "until")


def _of_kind(kind: ErasureKind) -> dict[str, JsonValue]:
    """The fields that an erasure of a kind needs, and those that it may not have."""
    own = {"session": ["session_id"], "item": ["item_id"], "period": ["since", "until"]}.get(kind.value, [])
    properties: dict[str, JsonValue] = {"kind": {"const": kind.value}}
    properties |= {field: {"type": "null"} for field in _FIELDS if field not in own}
    if kind is not ErasureKind.ITEM:
        properties["messages"] = {"const": False}
    given: list[JsonValue] = [{"properties": {field: {"type": "string"}}, "required": [field]} for field in own]
    return {"properties": properties, **({"anyOf": given} if given else {})}


class EraseBody(RequestModel):
    """What to erase."""

    model_config = examples(
        {"user_id": "ada", "kind": "user", "wait": True},
        {"user_id": "ada", "kind": "session", "session_id": "s-1"},
        {"user_id": "ada", "kind": "item", "item_id": "6c1f2a4e-4d0b-5d0e-9a55-1f6a3c2b9d10", "messages": True},
        {"user_id": "ada", "kind": "period", "since": "2026-03-01T00:00:00Z", "until": "2026-03-02T00:00:00Z"},
        rule={"oneOf": [_of_kind(kind) for kind in ErasureKind]},
    )

    user_id: User
    kind: ErasureKind = Field(
        description="`user`: everything; `session`, `item` or `period`: a part, and what was learned only from it."
    )
    session_id: Identifier | None = Field(default=None, description="Of kind `session`: its messages.")
    item_id: Identifier | None = Field(
        default=None,
        description="Of kind `item`: the id of a memory, message, entity, relation, fact or typed memory.",
    )
    messages: Flag = Field(default=False, description="Of kind `item`: whether the messages that mention it go, too.")
    since: Time | None = Field(default=None, description="Of kind `period`: the first moment; of all where missing.")
    until: Time | None = Field(
        default=None, description="Of kind `period`: the moment after the last; that of the request where missing."
    )
    wait: Flag = Field(default=False, description="Reply when it is done, or after half a minute.")

    @model_validator(mode="after")
    def _scope_is_sound(self) -> Self:
        _ = self.scope
        return self

    @property
    def scope(self) -> ErasureScope:
        """What to erase.

        Raises:
            ValueError: The fields do not fit the kind.
        """
        return ErasureScope(
            kind=self.kind,
            session_id=self.session_id,
            item_id=self.item_id,
            messages=self.messages,
            since=self.since,
            until=self.until,
        )


class TombstoneIn(RequestModel):
    """A finished erasure, as `GET /erasures/tombstones` shows it."""

    erasure_id: Identifier
    kind: ErasureKind
    user: Identifier
    target: Identifier | None = None
    more: Annotated[tuple[Identifier, ...], Field(max_length=100_000)] = ()
    messages: Flag = False
    anonymise: Flag = False
    since: Time | None = None
    until: Time | None = None
    erased_at: Time


class ReplayBody(RequestModel):
    """Finished erasures of before a backup was restored."""

    model_config = examples({"tombstones": []})

    tombstones: Annotated[tuple[TombstoneIn, ...], Field(max_length=MAX_TOMBSTONES)] = Field(
        default=(), description="From `GET /erasures/tombstones`, beside those that the service knows."
    )


class ErasureList(RequestModel):
    """Pending erasures, then those that are done, latest first."""

    results: tuple[Erasure, ...]


class TombstoneList(RequestModel):
    """Finished erasures in digests."""

    tombstones: tuple[Tombstone, ...]
