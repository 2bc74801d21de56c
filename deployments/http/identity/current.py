"""The identity of the request that is being answered, and its user."""

from contextvars import ContextVar

from memory.identity.caller import Identity

CURRENT_IDENTITY: ContextVar[Identity] = ContextVar("identity")
"""Set for each request by the middleware `Authentication` before the body is read; nothing is answered without."""
CURRENT_USER: ContextVar[str | None] = ContextVar("user", default=None)
"""The stored id of the user that a field of the request names; set by the types of `schemas/users.py`."""
