"""`/export` and `/import`: everything of a user as JSON lines (`memory.portability`)."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Annotated, Any, BinaryIO

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect

from memory.jobs.runs import RunWork, recorded_run
from memory.portability.exporting import export_user
from memory.portability.importing import Imported, import_user
from memory.portability.lines import Digest, Header, Item, ItemType, to_line
from memory.values.access.identity import shown_user
from memory.values.base import utc_now
from memory.values.entities import Entity
from memory.values.ids import entity_id

from ...identity.current import CURRENT_IDENTITY
from ...identity.operators import write_audit
from ...schemas.fields import Identifier
from ...schemas.users import UserQuery
from ...support.bodies import NDJSON
from ...support.problems import replies
from ...support.service_route import ServiceRoute
from ...support.services import Services, ServicesDep
from ...support.transfers import chunks_of, fill

router = APIRouter(tags=["portability"], route_class=ServiceRoute)


def _example() -> str:
    """A whole file with one entity."""
    at = datetime(2026, 1, 31, 12, tzinfo=UTC)
    sarah = Entity(
        entity_id=entity_id("ann", "Sarah"),
        user_id="ann",
        entity_value="Sarah",
        normalised_value="sarah",
        first_mentioned=at,
        last_mentioned=at,
        mention_count=1,
    )
    line, digest = Item(ItemType.ENTITY, sarah).to_line(), Digest()
    digest.add(ItemType.ENTITY, line)
    header = Header(jiyi=version("jiyi"), user_id="ann", created_at=at)
    return (to_line(header) + line + to_line(digest.end())).decode()


_FILE: dict[str, Any] = {NDJSON: {"schema": {"type": "string"}, "example": _example()}}


async def _transfer(user_id: UserQuery, services: ServicesDep) -> AsyncIterator[BinaryIO]:
    async with services.transfers.open(user_id) as file:
        yield file


Transfer = Annotated[BinaryIO, Depends(_transfer)]
"""A temporary file, which is open until the reply is sent."""


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={200: {"description": "JSON lines: a header, a value a line, and an end.", "content": _FILE}},
)
async def export_memory(user_id: UserQuery, services: ServicesDep, file: Transfer) -> StreamingResponse:
    """Everything of a user: log, entities, relations, memories, facts, typed memories, changes and current sessions.

    The first line says whose it is and when it was written, the last one how many lines there are of each type, with a
    digest. All are of one moment. Vectors are not in it; an import makes them again. 429 while another export or import
    of the user is in progress.
    """
    lines = export_user(services.record, services.sessions, user_id=user_id, version=version("jiyi"), now=utc_now())
    async with _recorded("export", user_id, services) as work:
        await fill(file, _noted(lines, work))
    _audit("export_memory", user_id)
    return StreamingResponse(chunks_of(file), media_type=NDJSON)


@router.post(
    "/import",
    responses=replies(409),
    openapi_extra={"requestBody": {"required": True, "content": _FILE}},
)
async def import_memory(
    user_id: UserQuery,
    request: Request,
    services: ServicesDep,
    file: Transfer,
    from_user_id: Annotated[
        Identifier | None, Query(description="The user of the file, where it is another one than `user_id`.")
    ] = None,
) -> Imported:
    """Takes what `GET /export` gave, into the same user's memory or, where `from_user_id` names it, another user's.

    The file is read to its end before anything is written: 422 names the line and the field that is wrong, 409 the line
    whose id another item of the user has. What is there already stays as it is, so that an import can be repeated. The
    index follows in the background.
    """
    async with _recorded("import", user_id, services) as work:
        try:
            await fill(file, _noted(request.stream(), work))
        except ClientDisconnect:
            raise HTTPException(408, "body: the client went away") from None
        imported = await import_user(
            services.record, services.sessions, file, user_id=user_id, from_user_id=from_user_id, now=utc_now()
        )
        await work.advance(output=imported.model_dump(mode="json"))
    services.additions.notify(user_id=user_id)
    _audit("import_memory", user_id)
    return imported


def _recorded(kind: str, user_id: str, services: Services) -> AbstractAsyncContextManager[RunWork]:
    app = CURRENT_IDENTITY.get().app
    return recorded_run(services.record.runs, kind, {"user_id": user_id}, app=app)


async def _noted(chunks: AsyncIterator[bytes], work: RunWork) -> AsyncIterator[bytes]:
    """The chunks, with their bytes as the progress of the run."""
    done = 0
    async for chunk in chunks:
        done += len(chunk)
        await work.advance(done=done, total=done, output={"bytes": done})
        yield chunk


def _audit(act: str, user_id: str) -> None:
    """Writes down that somebody else than the user has taken or given all of the user's memory."""
    identity = CURRENT_IDENTITY.get()
    if identity.caller.user is None:
        write_audit(act, credential=identity.caller.credential, app=identity.app, given_user_id=shown_user(user_id))
