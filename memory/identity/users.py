"""The users of an app."""

from collections.abc import AsyncIterator

from ..ports.stores.record import Backlog
from ..values.access.identity import DEFAULT_APP, app_and_user, app_of_owner, stored_user

_PAGE = 256


async def users_of_app(backlog: Backlog, app: str, *, after: str | None = None) -> AsyncIterator[str]:
    """The stored ids of the users of an app who have something in the record, sorted by code point.

    Args:
        backlog: Over all users.
        app: The app.
        after: The own id of a user, in the app, behind whom to begin.
    """
    first = stored_user(app, after) if after is not None else None if app == DEFAULT_APP else stored_user(app, "")
    while page := await backlog.users(after=first, limit=_PAGE):
        for stored in page:
            if app_and_user(stored)[0] == app and app_of_owner(stored) is None:
                yield stored
        first = page[-1]
        if app != DEFAULT_APP and app_and_user(first)[0] != app:
            return
