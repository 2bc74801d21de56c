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
from memory.values.extractions import Extraction
from memory.values.forgetting import ForgetReport
from memory.values.hits import CosineBounds, Hit, SearchResult
from memory.values.personas import Persona
from memory.values.resolutions import CoreferenceResult

from ..client import JiyiClient, JiyiRefused


class MemorySystem(DialogueMemory):
    """The memory of one service; see `memory.dialogue.memory_system.DialogueMemory`.

    What the service refuses raises `JiyiRefused`.

    Args:
        client: Of the service. It is asked in worker threads, so that others may use it meanwhile.
    """

    def __init__(self, client: JiyiClient) -> None:
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
        before = await asyncio.to_thread(self._client.before_reply, user_input, user_id=user_id, session_id=session_id)
        understood = Understood(
            resolution=CoreferenceResult.model_validate(before["resolution"]),
            extraction=Extraction(intents=tuple(before["intents"])),
        )
        phrases = phrases_for([user_input])
        context = RetrievedContext(
            message=user_input,
            query=enhanced_query(understood, task),
            understood=understood,
            language=language_of(phrases),
            at=at,
            degraded=tuple(before["degraded"]),
        )
        if before["forgotten"] is not None:
            reply = forget_reply(ForgetReport.model_validate(before["forgotten"]), phrases)
            return context.model_copy(update={"forget_reply": reply})
        result, personas = await asyncio.gather(
            self._search(context.query, user_id=user_id),
            asyncio.gather(*(self._persona(user_id, persona_id, context.language) for persona_id in persona_ids)),
        )
        if asks_memory(understood.as_asked(user_input, now=at)):  # the service has chosen those that answer
            memories = diversified([Hit.model_validate(hit) for hit in before["memories"]])
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
        kept = await asyncio.to_thread(
            self._client.after_reply,
            turn.context.message,
            user_id=turn.user_id,
            session_id=turn.session_id,
            turn_id=turn.turn_id,
            created_at=turn.context.at.isoformat(),
            reply=turn.text if is_generated else None,  # a quotation would be learned as something new
        )
        forgotten = None if kept["forgotten"] is None else ForgetReport.model_validate(kept["forgotten"])
        if forgotten is None and is_generated:
            for persona_id, text in turn.replies:
                await asyncio.to_thread(
                    self._client.learn_persona,
                    user_id=turn.user_id,
                    session_id=turn.session_id,
                    persona_id=persona_id,
                    message=turn.context.message,
                    reply=text,
                    turn_id=turn.turn_id,
                    injected=list(turn.injected),
                )
        return Acknowledged(
            turn_id=turn.turn_id,
            memory_id="",
            reply_id="",
            degraded=tuple(kept["degraded"]),
            forgotten=forgotten,
        )

    @override
    async def consolidate_memories(self, *, user_id: str) -> str:
        try:
            run = await asyncio.to_thread(self._client.run_job, "nightly", user_id=user_id)
        except JiyiRefused as error:
            if error.status == 409:  # a run is in progress
                return ""
            raise
        return str(run["run_id"])

    async def _search(self, query: str, *, user_id: str) -> SearchResult:
        found = await asyncio.to_thread(self._client.search, query, user_id=user_id, top_k=FETCHED)
        return SearchResult.model_validate(
            {"hits": found["results"], "unanswered": found["unanswered"], "degraded": found["degraded"]}
        )

    async def _persona(self, user_id: str, persona_id: str, language: Language) -> RecalledPersona:
        persona = await asyncio.to_thread(self._client.persona, user_id=user_id, persona_id=persona_id)
        return recalled_persona(Persona.model_validate(persona), language)
