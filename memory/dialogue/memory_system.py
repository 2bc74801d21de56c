"""The two memories of a dialogue, of the conversation and of the persona, behind one interface (003 §2)."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

import structlog

from ..answering.answers import AnsweredBy, AnswerRequest
from ..answering.forgetting import forget_reply
from ..answering.replies import asks_memory, leaves_memory_out
from ..chat.additions import MemoryAdditions
from ..chat.messages import Acknowledged, ChatMessage, Reply, Understood
from ..chat.prompt_context import is_related, prompt_memories
from ..chat.reader import MessageReader, log_degraded
from ..language.phrases import ENGLISH, SIMPLIFIED, Phrases, phrases_for
from ..language.written import Language
from ..ports.jobs import MaintenanceKind, MaintenanceService
from ..ports.models.language import Extractor
from ..ports.services import Retriever, UseCounter
from ..retrieval.conversation import diversify
from ..values.base import Timestamp, Value
from ..values.errors import Conflict, Overloaded, Unavailable
from ..values.evidence import EVIDENCE_BOUNDS, EvidenceBounds
from ..values.governance.changes import ItemKind
from ..values.hits import CosineBounds, Hit, HitKind, SearchRequest, SearchResult
from ..values.ids import resource_id
from ..values.understanding.readings import Context, Intent
from .persona_rules import Told, quoted_parts, said_by_assistant, told_by_user
from .personas import PersonaMemory
from .state import RecalledPersona

FETCHED = 24
"""Candidates among which maximal marginal relevance chooses."""
CONTEXT_MEMORIES = 6
"""Memories of a prompt."""
MMR_WEIGHT = 0.5
"""Share of its score that a memory loses which says the same as a better one: λ of MMR is 1 less this."""
_log = structlog.get_logger(__name__)


class RetrievedContext(Value):
    """What memory gives for a message.

    Args:
        message: As it was sent.
        query: The enhanced query that was searched for: references resolved, with the task that it belongs to.
        understood: The message, read once; the turn is stored with this reading.
        result: All that was found.
        memories: What of it belongs in a prompt, best first, without repetitions.
        personas: Of those who take part.
        language: Of the reply.
        forget_reply: What to say to a request to forget; None for any other message.
        at: When the message was sent.
        degraded: Components that could not be asked.
    """

    message: str
    query: str
    understood: Understood
    result: SearchResult = SearchResult()
    memories: tuple[Hit, ...] = ()
    personas: tuple[RecalledPersona, ...] = ()
    language: Language
    forget_reply: str | None = None
    at: Timestamp
    degraded: tuple[str, ...] = ()

    @property
    def asked(self) -> AnswerRequest:
        """The message for an answerer, with what was found."""
        asked = self.understood.as_asked(self.message, now=self.at)
        return asked.with_found(self.result)


class ConversationTurn(Value):
    """A turn that is to be stored.

    Args:
        turn_id: The same for each attempt to store it.
        replies: What each persona replied, by its id; one in most conversations.
        text: The whole reply.
        answered_by: Who made it; what was quoted from memory is not learned again.
        injected: Texts that were put into the prompt, from which nothing is learned about the persona.
    """

    user_id: str
    session_id: str
    turn_id: str
    context: RetrievedContext
    replies: tuple[tuple[str, str], ...]
    text: str
    answered_by: AnsweredBy
    injected: tuple[str, ...] = ()


class DialogueMemory(ABC):
    """What a dialogue graph needs of memory (003 §2.1); in this process, or a service that is asked over HTTP."""

    @abstractmethod
    async def retrieve_context(
        self,
        user_input: str,
        *,
        user_id: str,
        session_id: str,
        persona_ids: Sequence[str],
        task: str = "",
        at: datetime,
    ) -> RetrievedContext:
        """Reads a message and finds what concerns it, conversation and personas at the same time; stores nothing.

        Raises:
            Unavailable: The session cannot be read; of other components that are down `degraded` tells.
            Overloaded: The reader's queue is full.
        """

    @abstractmethod
    async def store_conversation_turn(self, turn: ConversationTurn) -> Acknowledged:
        """Stores message and reply and learns from them, the personas included; once for a `turn_id`.

        A request to forget is carried out in place of that.

        Raises:
            StoreUnavailable: The turn was not stored.
        """

    @abstractmethod
    async def consolidate_memories(self, *, user_id: str) -> str:
        """Starts the consolidation of a user's memories in the background.

        Returns:
            The id of its run; empty where one is in progress.
        """


class MemorySystem(DialogueMemory):
    """The memory of this process, over the parts of a chat turn.

    Args:
        reader: Reads messages in their sessions.
        extractor: Reads replies, for what the assistant says of itself.
        retriever: Finds memories.
        additions: Stores turns.
        personas: The persona memory.
        uses: Counts what prompts held.
        jobs: Consolidates; None where nothing does.
        cosines: From which cosines of the live model on a memory concerns a message.
        evidence: From which probability on that it answers a memory belongs in a prompt.
    """

    def __init__(
        self,
        *,
        reader: MessageReader,
        extractor: Extractor,
        retriever: Retriever,
        additions: MemoryAdditions,
        personas: PersonaMemory,
        uses: UseCounter,
        jobs: MaintenanceService | None = None,
        cosines: Callable[[], Awaitable[CosineBounds]] | None = None,
        evidence: EvidenceBounds = EVIDENCE_BOUNDS,
    ) -> None:
        self.personas = personas
        self._reader = reader
        self._extractor = extractor
        self._retriever = retriever
        self._additions = additions
        self._uses = uses
        self._jobs = jobs
        self._cosines = cosines
        self._evidence = evidence

    async def retrieve_context(
        self,
        user_input: str,
        *,
        user_id: str,
        session_id: str,
        persona_ids: Sequence[str],
        task: str = "",
        at: datetime,
    ) -> RetrievedContext:
        """See `DialogueMemory`."""
        context = await self.read(user_input, user_id=user_id, session_id=session_id, task=task, at=at)
        understood = context.understood
        phrases = phrases_for(understood.written(user_input))
        forgets = Intent.FORGET in understood.extraction.intents or bool(understood.to_forget)
        message = ChatMessage(user_id=user_id, session_id=session_id, message=user_input, now=at)
        report = await self._additions.would_forget(message, understood) if forgets else None
        if report is not None or Intent.FORGET in understood.extraction.intents:
            reply = forget_reply(report, phrases) if report else phrases.forget
            return context.model_copy(update={"forget_reply": reply})
        (result, memories), recalled = await asyncio.gather(
            self._find(context, user_id=user_id), self._recall(context, user_id, persona_ids)
        )
        personas, missing = recalled
        return context.model_copy(
            update={
                "result": result,
                "memories": memories,
                "personas": personas,
                "degraded": tuple(dict.fromkeys((*context.degraded, *result.degraded, *missing))),
            }
        )

    async def read(
        self, user_input: str, *, user_id: str, session_id: str, task: str = "", at: datetime
    ) -> RetrievedContext:
        """Reads a message in its session, and finds nothing for it yet; see `retrieve_context`."""
        understood = await self._reader.read(user_input, session_id=session_id, user_id=user_id, now=at)
        return RetrievedContext(
            message=user_input,
            query=enhanced_query(understood, task),
            understood=understood,
            language=language_of(phrases_for(understood.written(user_input))),
            at=at,
            degraded=understood.degraded,
        )

    async def store_conversation_turn(self, turn: ConversationTurn) -> Acknowledged:
        """See `DialogueMemory`."""
        context, understood = turn.context, turn.context.understood
        message = ChatMessage(
            user_id=turn.user_id,
            session_id=turn.session_id,
            message=context.message,
            turn_id=turn.turn_id,
            now=context.at,
        )
        if context.forget_reply is not None:
            forgotten = await self._additions.forget(message, understood)
            if forgotten is not None and forgotten.forgotten is not None:
                return forgotten
        is_generated = turn.answered_by is AnsweredBy.LANGUAGE_MODEL and context.forget_reply is None
        reply = Reply(
            text=turn.text,
            can_be_referred_to=is_generated or bool(context.memories),
            learn=is_generated,
            metadata={"answered_by": turn.answered_by.value},
        )
        stored = await self._additions.add_turn(message, understood, reply, degraded=context.degraded)
        self._uses.add(ItemKind.MEMORY, [hit.id for hit in context.memories], user_id=turn.user_id, at=context.at)
        await self.learn_personas(turn)
        return stored

    async def consolidate_memories(self, *, user_id: str) -> str:
        """See `DialogueMemory`; it is the nightly job over this user alone (002 §5.1)."""
        if self._jobs is None:
            return ""
        try:
            return (await self._jobs.start(MaintenanceKind.NIGHTLY, user_id=user_id)).run_id
        except Conflict:
            return ""

    async def learn_personas(self, turn: ConversationTurn) -> None:
        """Keeps what a turn has told about those who replied (`memory.dialogue.persona_rules`).

        While the extractor is away what the assistant said of itself is not kept.
        """
        source = resource_id(turn.user_id, turn.session_id, turn.turn_id)
        context = turn.context
        told = told_by_user(context.message, context.understood.extraction, source=source, at=context.at)
        for persona_id, text in turn.replies:
            said = await self._said(turn, text, source) if turn.answered_by is AnsweredBy.LANGUAGE_MODEL else []
            await self.personas.learn(turn.user_id, persona_id, [*told, *said], session_id=turn.session_id)

    async def _said(self, turn: ConversationTurn, text: str, source: str) -> list[Told]:
        message = turn.context.message
        try:
            [extraction] = await self._extractor.extract([text], contexts=[Context(turns=(message,))])
        except (Unavailable, Overloaded) as error:
            _log.warning("persona_not_learned", error=error.message)
            return []
        injected = (*quoted_parts(message), *turn.injected)
        return said_by_assistant(text, extraction, injected=injected, source=source, at=turn.context.at)

    async def _find(self, context: RetrievedContext, *, user_id: str) -> tuple[SearchResult, tuple[Hit, ...]]:
        asked = context.understood.as_asked(context.message, now=context.at)
        if leaves_memory_out(asked):
            return SearchResult(), ()
        asks = asks_memory(asked)
        request = SearchRequest(
            query=context.query,
            user_id=user_id,
            top_k=FETCHED,
            asks=asks,
            overview=asks and context.understood.extraction.overview,
            now=context.at,
        )
        try:
            result = await self._retriever.search(request)
        except Unavailable as error:
            log_degraded("retriever", error)
            return SearchResult(degraded=("retriever",)), ()
        bounds = CosineBounds() if self._cosines is None else await self._cosines()
        return result, choose_memories(context.query, result, asks=asks, evidence=self._evidence, cosines=bounds)

    async def _recall(
        self, context: RetrievedContext, user_id: str, persona_ids: Sequence[str]
    ) -> tuple[tuple[RecalledPersona, ...], tuple[str, ...]]:
        recalls = [
            self.personas.recall(user_id, persona_id, context.query, language=context.language)
            for persona_id in persona_ids
        ]
        try:
            return tuple(await asyncio.gather(*recalls)), ()
        except (Unavailable, Overloaded) as error:
            _log.warning("persona_skipped", error=error.message)
            return (), ("persona",)


def enhanced_query(understood: Understood, task: str) -> str:
    """What is searched for: the message with its references resolved, and the task that it belongs to (003 §2.1)."""
    resolved = understood.resolution.resolved_query
    return f"{resolved}\n{task}" if task and task not in resolved else resolved


def choose_memories(
    query: str, result: SearchResult, *, asks: bool, evidence: EvidenceBounds, cosines: CosineBounds
) -> tuple[Hit, ...]:
    """The memories that belong in a prompt, by maximal marginal relevance (003 §2.1).

    For a question those that help to answer it, else those with evidence of their own that they concern the message:
    every search has a nearest memory.
    """
    if asks:
        related: Sequence[Hit] = prompt_memories(query, result, evidence=evidence, cosines=cosines)
    else:
        related = [hit for hit in result.hits if hit.kind is HitKind.MEMORY and is_related(hit, query, cosines)]
    return diversified(related)


def diversified(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """As many memories as a prompt holds, by maximal marginal relevance."""
    return tuple(diversify(hits, top_k=CONTEXT_MEMORIES, weight=MMR_WEIGHT))


def language_of(phrases: Phrases) -> Language:
    """The language of phrases."""
    if phrases is ENGLISH:
        return Language.ENGLISH
    return Language.SIMPLIFIED_CHINESE if phrases is SIMPLIFIED else Language.TRADITIONAL_CHINESE
