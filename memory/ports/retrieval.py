"""The retriever's role."""

from abc import ABC, abstractmethod

from ..values.hits import SearchRequest, SearchResult


class Retriever(ABC):
    """Finds entities and memories of one user (000 §6.4)."""

    @abstractmethod
    async def search(self, request: SearchRequest) -> SearchResult:
        """Runs all legs in parallel and fuses them; a leg that fails is named in `degraded`."""
