"""Memory for chat agents: the client, and the command line.

Importing this loads nothing; the client is loaded when it is first named.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .client.clients import AsyncClient, Client
    from .errors import ClientError, Refused

__all__ = ["AsyncClient", "Client", "ClientError", "Refused"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in ("Client", "AsyncClient"):
        return getattr(import_module(".client.clients", __name__), name)
    if name in __all__:
        return getattr(import_module(".errors", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
