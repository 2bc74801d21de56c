"""A chat turn: session → resolve → retrieve → answer → append to the raw log → learn in the background (DESIGN §3)."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import structlog

from ..answering.answers import Answer, AnsweredBy, Answerer, AnswerRequest, Assistant
from ..answering.forgetting import forget_reply
from ..answering.replies import asks_memory, leaves_memory_out, may_introduce
from ..language.phrases import phrases_for
from ..ports.services import Retriever, UseCounter
from ..values.errors import Unavailable
from ..values.governance.changes import Held, ItemKind
from ..values.hits import HitKind, SearchRequest, SearchResult
from ..values.text import normalise
from ..values.understanding.readings import Intent
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
        with_corpora: Searches memory and the corpora that a message names; None where there are none to search.
        answerer: Answers from the search result.
        additions: Stores the turn.
        uses: Counts what the answer held.
        assistant: Says who replies to a user; None where nobody has said it.
    """

    def __init__(
        self,
        *,
        reader: MessageReader,
        retriever: Retriever,
        answerer: Answerer,
        additions: MemoryAdditions,
        uses: UseCounter,
        with_corpora: Retriever | None = None,
        assistant: Callable[[str], Awaitable[Assistant]] | None = None,
    ) -> None:
        self._reader = reader
        self._retriever = retriever
        self._with_corpora = with_corpora or retriever
        self._answerer = answerer
        self._additions = additions
        self._uses = uses
        self._assistant = assistant

    async def run(self, message: ChatMessage) -> AsyncIterator[ChatEvent]:
        """Yields the turn's events in order; the last one is the acknowledgement.

        Raises:
            StoreUnavailable: The turn was not stored, or too much waits for the record (`StoreBusy`).
            Overloaded: Too much waits for a model; nothing was stored.
        """
        understood = await self._reader.read(
            message.message,
            session_id=message.session_id,
            user_id=message.user_id,
            now=message.now,
            earlier=message.earlier,
        )
        yield understood
        forgotten = await self._additions.forget(message, understood)
        if forgotten is not None and forgotten.forgotten is not None:
            yield Found(result=SearchResult())
            text = forget_reply(forgotten.forgotten, phrases_for(understood.written(message.message)))
            yield Replied(answer=Answer(text=text, answered_by=AnsweredBy.EXTRACTIVE))
            yield forgotten
            return
        postponed = ("learner",) if Intent.FORGET in understood.extraction.intents else ()
        asked = understood.as_asked(message.message, now=message.now)
        if self._assistant is not None and may_introduce(asked):
            asked = asked.model_copy(update={"assistant": await self._assistant(message.user_id)})
        is_searched = not postponed and not leaves_memory_out(asked)
        result = await self._retrieve(message, asked) if is_searched else SearchResult()
        yield Found(result=result)
        answer = await self._answerer.answer(asked.with_found(result))
        self._count_uses(message, answer, result)
        yield Replied(answer=answer)
        reply = Reply(
            text=answer.text,
            can_be_referred_to=bool(answer.sources),
            learn=False,
            metadata={"answered_by": answer.answered_by.value},
        )
        degraded = (*result.degraded, *answer.degraded, *postponed)
        yield await self._additions.add_turn(message, understood, reply, degraded=degraded)

    def _count_uses(self, message: ChatMessage, answer: Answer, result: SearchResult) -> None:
        """Counts the memories that the answer quotes, the facts that it states and the found entities that it names."""
        if not answer.sources:
            return
        text = normalise(answer.text)
        named = [hit.id for hit in result.hits if hit.kind is HitKind.ENTITY and normalise(hit.text) in text]
        held: dict[ItemKind | Held, Sequence[str]] = {
            ItemKind.MEMORY: [source.id for source in answer.sources if source.kind is HitKind.MEMORY],
            ItemKind.ENTITY: named,
            Held.FACT: answer.fact_ids,
        }
        for kind, ids in held.items():
            self._uses.add(kind, ids, user_id=message.user_id, at=message.now)

    async def _retrieve(self, message: ChatMessage, asked: AnswerRequest) -> SearchResult:
        asks = asks_memory(asked)
        request = SearchRequest(
            query=asked.resolved,
            user_id=message.user_id,
            top_k=message.top_k,
            asks=asks,
            overview=asks and asked.extraction.overview,
            corpus_ids=message.corpus_ids,
            now=message.now,
        )
        retriever = self._with_corpora if message.corpus_ids else self._retriever
        try:
            return await retriever.search(request)
        except Unavailable as error:
            log_degraded("retriever", error)
            return SearchResult(degraded=("retriever",))
