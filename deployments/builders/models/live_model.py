"""Parts of the domain that follow the live model: each call goes to the part made for its vectors (DESIGN §8)."""

import structlog
from typing_extensions import override

from memory.answering.answers import Answer, Answerer, AnswerRequest
from memory.indexing.generations import PerSpace
from memory.ports.services import Retriever
from memory.ports.stores.generations import VectorSpace
from memory.values.errors import StoreUnavailable
from memory.values.hits import SearchRequest, SearchResult

_log = structlog.get_logger(__name__)


class LiveRetriever(Retriever):
    """Searches in the space that is live when a search begins, from its first leg to its last.

    Args:
        retrievers: One per space.
    """

    def __init__(self, retrievers: PerSpace[Retriever]) -> None:
        self._retrievers = retrievers

    @override
    async def search(self, request: SearchRequest) -> SearchResult:
        try:
            retriever = await self._retrievers.current()
        except StoreUnavailable as error:  # there would be nothing to show either: the hits are in the record
            _log.warning("retrieval_degraded", part="record", component=error.component, error=error.message)
            return SearchResult(degraded=("record",))
        return await retriever.search(request)


class LiveAnswerer(Answerer):
    """Answers with the bounds of the model that is live, whose cosines the hits carry.

    Args:
        answerers: One per space.
        otherwise: Any of them, for the time when the record cannot say which is live.
    """

    def __init__(self, answerers: PerSpace[Answerer], *, otherwise: VectorSpace) -> None:
        self._answerers = answerers
        self._otherwise = otherwise

    @override
    async def answer(self, request: AnswerRequest) -> Answer:
        return await (await self._answerers.current_or(self._otherwise)).answer(request)
