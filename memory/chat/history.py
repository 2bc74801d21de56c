"""Compares the history that a caller sends with the turns that are stored of a session."""

from collections.abc import Sequence

from ..values.understanding.dialogue import Role, Turn


def one_line(text: str) -> str:
    """A text as texts of two histories are compared: clients change nothing but the space in it."""
    return " ".join(text.split())


def is_same_reply(one: str, other: str) -> bool:
    """Whether two texts, each in one line, may be one reply: clients leave out parts, such as what a model thought.

    A reply that is empty is not known, and so is no other one.
    """
    return one in other or other in one


def has_same_end(stored: Sequence[Turn], given: Sequence[Turn], *, message: str) -> bool:
    """Whether stored turns end as those that a caller has before a message: with the same message and reply.

    The message itself, and a reply to it, may be stored already: it is then sent again.
    """
    last = max((place for place, turn in enumerate(stored) if turn.role is Role.USER), default=None)
    if last is None:
        return not given
    is_sent_again = one_line(stored[last].content) == one_line(message)
    return _is_same(_last_exchange(stored), _last_exchange(given)) or (
        is_sent_again and _is_same(_last_exchange(stored[:last]), _last_exchange(given))
    )


def _last_exchange(turns: Sequence[Turn]) -> tuple[str, str]:
    """The last message of the user and what was replied to it."""
    last = max((place for place, turn in enumerate(turns) if turn.role is Role.USER), default=-1)
    replies = " ".join(turn.content for turn in turns[last + 1 :] if turn.role is Role.ASSISTANT)
    return one_line(turns[last].content) if last >= 0 else "", one_line(replies)


def _is_same(one: tuple[str, str], other: tuple[str, str]) -> bool:
    return one[0] == other[0] and is_same_reply(one[1], other[1])
