"""Retrieval that counts what it finds, apart from the search itself (001 §3.4)."""

from ..governance.accesses import AccessTally
from ..ports.services import Retriever
from ..values.changes import ItemKind
from ..values.hits import HitKind, SearchRequest, SearchResult

_KINDS = {HitKind.ENTITY: ItemKind.ENTITY, HitKind.MEMORY: ItemKind.MEMORY}


class CountingRetriever(Retriever):
    """Wraps a retriever; every hit that it returns is an access."""

    def __init__(self, retriever: Retriever, tally: AccessTally) -> None:
        self._retriever = retriever
        self._tally = tally

    async def search(self, request: SearchRequest) -> SearchResult:
        """See `Retriever.search`; writes nothing on the way."""
        result = await self._retriever.search(request)
        for kind, counted_as in _KINDS.items():
            ids = [hit.id for hit in result.hits if hit.kind is kind]
            if ids:
                self._tally.add(counted_as, ids, user_id=request.user_id, at=request.now)
        return result
