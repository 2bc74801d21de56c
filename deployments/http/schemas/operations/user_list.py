"""Reply bodies of `GET /users`."""

from memory.values.base import UserId

from ..fields import RequestModel


class UserReply(RequestModel):
    """A user who has something in memory."""

    user_id: UserId


class UserList(RequestModel):
    """Users in the order of their ids; `next` is the `after` of the next page, null on the last one."""

    results: tuple[UserReply, ...]
    next: str | None
