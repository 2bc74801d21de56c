"""The Retriever deployment: retrieval fusion (DESIGN §2, §6)."""

from collections.abc import Callable

from typing_extensions import override

from memory.ports.services import Retriever
from memory.values.hits import SearchRequest, SearchResult

from ..telemetry.replicas import Figures, Reporting


class RetrieverDeployment(Reporting):
    """Runs all search legs and fuses them."""

    def __init__(self, *, retriever: Callable[[], Retriever]) -> None:
        self._retriever = retriever()

    async def search(self, request: SearchRequest) -> SearchResult:
        """See `memory.ports.services.Retriever.search`."""
        return await self._retriever.search(request)

    @override
    async def stats(self) -> Figures:
        """Answers, so it is there."""
        return {}
