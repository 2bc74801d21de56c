"""Request and reply bodies of `/erasures` and `DELETE /users/{user_id}`."""

from typing import Literal

from pydantic import Field

from memory.values.erasures import Erasure, ErasureKind

from .fields import Flag, RequestModel, examples
from .users import User


class EraseBody(RequestModel):
    """What to erase."""

    model_config = examples({"user_id": "ada", "kind": "user", "wait": True})

    user_id: User
    kind: Literal[ErasureKind.USER] = Field(description="`user`: everything.")
    wait: Flag = Field(default=False, description="Reply when it is done, or after half a minute.")


class ErasureList(RequestModel):
    """Pending erasures, then those that are done, latest first."""

    results: tuple[Erasure, ...]
