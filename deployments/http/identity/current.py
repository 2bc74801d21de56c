"""The identity of the request that is being answered."""

from contextvars import ContextVar

from memory.identity.caller import Identity

CURRENT_IDENTITY: ContextVar[Identity] = ContextVar("identity")
"""Set for each request by the middleware `Authentication` before the body is read; nothing is answered without."""
