"""Request and reply bodies of `/erasures` and `DELETE /users/{user_id}`."""

from typing import Annotated, Literal

from pydantic import Field

from memory.values.erasures import Erasure, ErasureKind, Tombstone

from .fields import Flag, Identifier, RequestModel, Time, examples
from .users import User

MAX_TOMBSTONES = 1_000


class EraseBody(RequestModel):
    """What to erase."""

    model_config = examples({"user_id": "ada", "kind": "user", "wait": True})

    user_id: User
    kind: Literal[ErasureKind.USER] = Field(description="`user`: everything.")
    wait: Flag = Field(default=False, description="Reply when it is done, or after half a minute.")


class TombstoneIn(RequestModel):
    """A finished erasure, as `GET /erasures/tombstones` shows it."""

    erasure_id: Identifier
    kind: ErasureKind
    user: Identifier
    target: Identifier | None = None
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
