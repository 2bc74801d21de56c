"""The memory of a service, asked over HTTP, for a dialogue graph of the caller's own process (003 §2)."""

import asyncio
from collections.abc import Sequence
from datetime import datetime

from typing_extensions import override

from memory.answering.answers import AnsweredBy
from memory.answering.forgetting import forget_reply
from memory.answering.replies import asks_memory
from memory.chat.messages import Acknowledged, Understood
from memory.dialogue.memory_system import (
    FETCHED,
    ConversationTurn,
    DialogueMemory,
    RetrievedContext,
    choose_memories,
    diversified,
    enhanced_query,
    language_of,
)
from memory.dialogue.personas import recalled_persona
from memory.dialogue.state import RecalledPersona
from memory.language.phrases import phrases_for
from memory.language.written import Language
from memory.values.evidence import EVIDENCE_BOUNDS
from memory.values.governance.forgetting import ForgetReport
from memory.values.hits import CosineBounds, SearchResult
from memory.values.understanding.extractions import Extraction

from ..client.clients import AsyncClient
from ..errors import Conflict


class MemorySystem(DialogueMemory):
    """The memory of one service; see `memory.dialogue.memory_system.DialogueMemory`.

    Its calls raise `jiyi.ClientError` where the service cannot be asked.

    Args:
        client: Of the service.
    """

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    @override
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
        before = await self._client.before_reply(user_input, user_id=user_id, session_id=session_id)
        understood = Understood(resolution=before.resolution, extraction=Extraction(intents=before.intents))
        phrases = phrases_for([user_input])
        context = RetrievedContext(
            message=user_input,
            query=enhanced_query(understood, task),
            understood=understood,
            language=language_of(phrases),
            at=at,
            degraded=before.degraded,
        )
        if before.forgotten is not None:
            report = ForgetReport.model_validate(before.forgotten.model_dump())
            return context.model_copy(update={"forget_reply": forget_reply(report, phrases)})
        result, personas = await asyncio.gather(
            self._search(context.query, user_id=user_id),
            asyncio.gather(*(self._persona(user_id, persona_id, context.language) for persona_id in persona_ids)),
        )
        if asks_memory(understood.as_asked(user_input, now=at)):  # the service has chosen those that answer
            memories = diversified(before.memories)
        else:
            memories = choose_memories(
                context.query, result, asks=False, evidence=EVIDENCE_BOUNDS, cosines=CosineBounds()
            )
        degraded = tuple(dict.fromkeys((*context.degraded, *result.degraded)))
        return context.model_copy(
            update={"result": result, "memories": memories, "personas": tuple(personas), "degraded": degraded}
        )

    @override
    async def store_conversation_turn(self, turn: ConversationTurn) -> Acknowledged:
        is_generated = turn.answered_by is AnsweredBy.LANGUAGE_MODEL
        kept = await self._client.after_reply(
            turn.context.message,
            user_id=turn.user_id,
            session_id=turn.session_id,
            turn_id=turn.turn_id,
            created_at=turn.context.at,
            reply=turn.text if is_generated else None,  # a quotation would be learned as something new
        )
        if kept.forgotten is None:
            await self._learn_personas(turn, is_generated=is_generated)
        return Acknowledged(
            turn_id=turn.turn_id,
            memory_id="",
            reply_id="",
            degraded=kept.degraded,
            forgotten=None if kept.forgotten is None else ForgetReport.model_validate(kept.forgotten.model_dump()),
        )

    @override
    async def consolidate_memories(self, *, user_id: str) -> str:
        try:
            return (await self._client.facts.start_job("nightly", user_id=user_id)).run_id
        except Conflict:  # a run is in progress
            return ""

    async def _learn_personas(self, turn: ConversationTurn, *, is_generated: bool) -> None:
        """Has the service keep what the turn tells about those who replied.

        What the user says to the assistant counts in every turn, the reply only where a model wrote it.
        """
        for persona_id, text in turn.replies:
            await self._client.personas.learn(
                turn.context.message,
                user_id=turn.user_id,
                session_id=turn.session_id,
                persona_id=persona_id,
                reply=text if is_generated else None,
                turn_id=turn.turn_id,
                injected=turn.injected if is_generated else (),
            )

    async def _search(self, query: str, *, user_id: str) -> SearchResult:
        found = await self._client.search(query, user_id=user_id, top_k=FETCHED)
        return SearchResult(hits=found.results, unanswered=found.unanswered, degraded=found.degraded)

    async def _persona(self, user_id: str, persona_id: str, language: Language) -> RecalledPersona:
        persona = await self._client.personas.get(user_id=user_id, persona_id=persona_id)
        return recalled_persona(persona, language)
