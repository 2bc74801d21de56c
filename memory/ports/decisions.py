"""Decisions about memories, as a service (004 §7.3)."""

from abc import ABC, abstractmethod

from ..values.governance.decisions import DecisionRecord, DecisionRequest


class DecisionService(ABC):
    """Retains, deletes or anonymises memories with all that was learned from them."""

    @abstractmethod
    async def decide(self, request: DecisionRequest) -> DecisionRecord:
        """Carries out the decisions in one transaction of the system of record; other stores follow as with an erasure.

        Returns:
            The entry of the audit history; of a repeated request with the same key, that of the first.

        Raises:
            NotFound: The user has not all of these memories; nothing was done.
            VersionConflict: A memory has another version; nothing was done.
            Conflict: The key was used for another request; nothing was done.
            Unavailable: The record is away, or a job is at work on this user's memory.
        """
