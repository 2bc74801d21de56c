"""Owners of what is stored: users, and apps, whose knowledge belongs to all of their users."""

from collections.abc import Iterable

from memory.values.access.identity import app_of_owner


def count_users(owners: Iterable[str]) -> int:
    """The number of these owners that are users."""
    return sum(app_of_owner(owner) is None for owner in owners)
