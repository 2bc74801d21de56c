"""Replies about the health of the service."""

from typing import Literal

from pydantic import BaseModel


class Readiness(BaseModel):
    """Whether the service can do its work, and which parts cannot."""

    status: Literal["ready", "unavailable"]
    down: list[str]
