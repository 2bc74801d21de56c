"""Request and reply bodies of `/erasures` and `DELETE /users/{user_id}`."""

from typing import Annotated, Literal

from pydantic import Field

from memory.values.erasures import Erasure, ErasureKind, Tombstone

from .fields import Flag, RequestModel, examples
from .users import User


class EraseBody(RequestModel):
    """What to erase."""

    model_config = examples({"user_id": "ada", "kind": "user", "wait": True})

    user_id: User
    kind: Literal[ErasureKind.USER] = Field(description="`user`: everything.")
    wait: Flag = Field(default=False, description="Reply when it is done, or after half a minute.")


class ReplayBody(RequestModel):
    """Finished erasures of before a backup was restored."""

    model_config = examples({"tombstones": []})

    tombstones: Annotated[tuple[Tombstone, ...], Field(max_length=10_000)] = Field(
        default=(), description="From `GET /erasures/tombstones`, beside those that the service knows."
    )


class ErasureList(RequestModel):
    """Pending erasures, then those that are done, latest first."""

    results: tuple[Erasure, ...]


class TombstoneList(RequestModel):
    """Finished erasures in digests."""

    tombstones: tuple[Tombstone, ...]
