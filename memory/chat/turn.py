"""A chat turn: session → resolve → retrieve → answer → append to the raw log → learn in the background (DESIGN §3)."""

from collections.abc import AsyncIterator

import structlog

from ..answering.answers import Answerer, AnswerRequest
from ..ports.services import Retriever
from ..values.errors import Unavailable
from ..values.hits import SearchRequest, SearchResult
from .additions import MemoryAdditions
from .messages import ChatEvent, ChatMessage, Found, Replied, Reply
from .reader import MessageReader, log_degraded

_log = structlog.get_logger(__name__)


class ChatTurn:
    """Runs chat turns; `/chat/before` and `/chat/after` are the same without the answer.

    Every component but the session store and the raw log may fail without failing the turn (000 §9.1).

    Args:
        reader: Extracts and resolves messages.
        retriever: Searches memory.
        answerer: Answers from the search result.
        additions: Stores the turn.
    """

    def __init__(
        self, *, reader: MessageReader, retriever: Retriever, answerer: Answerer, additions: MemoryAdditions
    ) -> None:
        self._reader = reader
        self._retriever = retriever
        self._answerer = answerer
        self._additions = additions

    async def run(self, message: ChatMessage) -> AsyncIterator[ChatEvent]:
        """Yields the turn's events in order; the last one is the acknowledgement.

        Raises:
            StoreUnavailable: The turn was not stored, or too much waits for the record (`StoreBusy`).
        """
        understood = await self._reader.read(
            message.message, session_id=message.session_id, user_id=message.user_id, now=message.now
        )
        yield understood
        resolution = understood.resolution
        result = await self._retrieve(message, resolution.resolved_query)
        yield Found(result=result)
        answer = await self._answerer.answer(
            AnswerRequest(
                message=resolution.resolved_query if resolution.revision else message.message,
                resolved=resolution.resolved_query,
                revised=resolution.revision is not None,
                clarification=resolution.clarification,
                extraction=understood.extraction,
                hits=result.hits,
                turns=understood.turns,
                now=message.now,
            )
        )
        yield Replied(answer=answer)
        reply = Reply(
            text=answer.text,
            can_be_referred_to=bool(answer.sources),
            learn=False,
            metadata={"answered_by": answer.answered_by.value},
        )
        yield await self._additions.add_turn(message, understood, reply, degraded=result.degraded)

    async def _retrieve(self, message: ChatMessage, query: str) -> SearchResult:
        request = SearchRequest(query=query, user_id=message.user_id, top_k=message.top_k, now=message.now)
        try:
            return await self._retriever.search(request)
        except Unavailable as error:
            log_degraded("retriever", error)
            return SearchResult(degraded=("retriever",))
