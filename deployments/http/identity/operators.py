"""Calls for operators: who may make them, and a line in the audit log for each act."""

import contextlib
from collections.abc import AsyncIterator
from typing import Annotated, Any

import structlog
from fastapi import Depends, Request

from memory.identity.caller import Identity
from memory.values.access.identity import KeyScope
from memory.values.errors import JiyiError

from .current import CURRENT_IDENTITY

_audit = structlog.get_logger(__name__)
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_MAX_SHOWN_CHARACTERS = 200
_SHOWN = frozenset({"app", "dry_run", "mend", "model", "name", "overlap_s", "scope", "user", "user_id"})
"""Fields of bodies that say what an act was about; no other is written down."""


async def _current() -> Identity:
    return CURRENT_IDENTITY.get()


IdentityDep = Annotated[Identity, Depends(_current)]
"""Route parameter: who asks."""


def write_audit(act: str, *, credential: str, **details: object) -> None:
    """Writes a line for an act that succeeded."""
    _audit.info("operator_act", act=act, credential=credential, **details)


async def _require_admin(identity: IdentityDep) -> None:
    identity.require(KeyScope.ADMIN)


async def _require_app(identity: IdentityDep) -> None:
    identity.require(KeyScope.APP)


async def audited(request: Request, identity: IdentityDep) -> AsyncIterator[None]:
    """Writes a line for the act when it has succeeded or failed; reading is no act."""
    if request.method in _READING:
        yield
        return
    line = {
        "act": request.scope["route"].name,
        "credential": identity.caller.credential,
        "app": identity.app,
        **await _details(request),
    }
    try:
        yield
    except Exception as error:
        reason = error.message if isinstance(error, JiyiError) else type(error).__name__
        _audit.warning("operator_act_failed", **line, error=reason)
        raise
    write_audit(**line)


ADMIN = Depends(_require_admin)
"""Router dependency: for operators of the whole service."""
APP_OR_ADMIN = Depends(_require_app)
"""Router dependency: for the backend of a product, and for operators."""
AUDITED = Depends(audited)
"""Router dependency: every act is written to the audit log. After the dependency that says who may act."""
OPERATORS = [ADMIN, AUDITED]


async def _details(request: Request) -> dict[str, Any]:
    """What the act was about: parameters of the path and the simple fields of the body."""
    details: dict[str, Any] = dict(request.path_params)
    with contextlib.suppress(ValueError, RecursionError):  # a route without a body does not look at what is sent
        body = await request.json()
        fields = body.items() if isinstance(body, dict) else ()
        details |= {
            f"given_{name}": value[:_MAX_SHOWN_CHARACTERS] if isinstance(value, str) else value
            for name, value in fields
            if name in _SHOWN and isinstance(value, str | int | float | bool)
        }
    return details
