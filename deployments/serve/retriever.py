"""The Retriever deployment: retrieval fusion (DESIGN §2, §6)."""

from collections.abc import Callable

from memory.ports.services import Retriever
from memory.values.hits import SearchRequest, SearchResult


class RetrieverDeployment:
    """Runs all search legs and fuses them."""

    def __init__(self, *, retriever: Callable[[], Retriever]) -> None:
        self._retriever = retriever()

    async def search(self, request: SearchRequest) -> SearchResult:
        """See `memory.ports.services.Retriever.search`."""
        return await self._retriever.search(request)

    async def stats(self) -> dict[str, float]:
        """Answers, so it is there."""
        return {}
