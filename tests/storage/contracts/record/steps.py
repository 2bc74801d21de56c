"""What a user, or the app of a user, does in the isolation test."""

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256


@dataclass(frozen=True)
class Step:
    """What one user does: an action on three words, at a moment, kept or undone."""

    action: str
    user_id: str
    first: str
    second: str
    third: str
    at: datetime
    kept: bool

    @property
    def app(self) -> str:
        """The app that takes the step where it is about knowledge."""
        return app_for(self.user_id)


def app_for(user_id: str) -> str:
    """The app of a user of the test."""
    return f"app-{sha256(user_id.encode()).hexdigest()[:8]}"
