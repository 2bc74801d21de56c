"""A chat turn: session → resolve → retrieve → answer → append to the raw log → learn in the background (DESIGN §3)."""

import asyncio
from collections.abc import AsyncIterator
from typing import TypeVar

import structlog

from ..answering.answers import Answer, Answerer, AnswerRequest
from ..coreference.session_memory import meant_in, remember
from ..extraction.recognition import recognise
from ..ports.language import Extractor, Resolver
from ..ports.record import SystemOfRecord
from ..ports.services import LearningService, LearnReport, Retriever
from ..ports.sessions import SessionStore
from ..values.base import Scalar, SessionId, Timestamp, UserId, Value
from ..values.dialogue import Role, Session
from ..values.errors import StoreUnavailable, Unavailable
from ..values.hits import SearchRequest, SearchResult
from ..values.ids import memory_id, new_id, resource_id
from ..values.mentions import Extraction
from ..values.records import Resource
from ..values.resolutions import CoreferenceResult, ResolutionRequest

_log = structlog.get_logger(__name__)
T = TypeVar("T")


class ChatMessage(Value):
    """What a user says.

    `turn_id` is the caller's own id of the message: sending the same again appends nothing twice. `wait` asks for the
    learning to be finished before the turn ends.
    """

    user_id: UserId
    session_id: SessionId
    message: str
    top_k: int = 8
    turn_id: str | None = None
    metadata: dict[str, Scalar] = {}
    wait: bool = False
    now: Timestamp


class Understood(Value):
    """First event of a turn: what the message means."""

    resolution: CoreferenceResult
    extraction: Extraction


class Found(Value):
    """Second event: what memory found for it."""

    result: SearchResult


class Replied(Value):
    """Third event: the answer. It is not acknowledged yet."""

    answer: Answer


class Acknowledged(Value):
    """Last event: the turn is in the raw log and will survive whatever happens.

    `degraded` names the parts that could not do their work in this turn; `learned` is there where `wait` asked for it.
    """

    turn_id: str
    memory_id: str
    reply_id: str
    degraded: tuple[str, ...] = ()
    learned: LearnReport | None = None


ChatEvent = Understood | Found | Replied | Acknowledged


class ChatTurn:
    """Runs chat turns; what it needs is injected.

    Parts that only improve a turn may fail without failing it (000 §9.1): without the resolver the query stays as it
    is, without the extractor nothing is marked, without the retriever nothing is found. The raw log may not fail.
    """

    def __init__(
        self,
        *,
        sessions: SessionStore,
        record: SystemOfRecord,
        extractor: Extractor,
        resolver: Resolver,
        retriever: Retriever,
        answerer: Answerer,
        learning: LearningService,
    ) -> None:
        self._sessions = sessions
        self._record = record
        self._extractor = extractor
        self._resolver = resolver
        self._retriever = retriever
        self._answerer = answerer
        self._learning = learning

    async def run(self, message: ChatMessage) -> AsyncIterator[ChatEvent]:
        """Yields the turn's events in order; the last one is the acknowledgement.

        Raises:
            StoreUnavailable: The turn could not be written down; nothing was acknowledged.
        """
        degraded: list[str] = []
        session = await self._sessions.load(message.session_id, user_id=message.user_id)
        extraction, resolution = await asyncio.gather(
            self._extract(message, degraded), self._resolve(message, session, degraded)
        )
        resolution = meant_in(resolution, extraction)
        yield Understood(resolution=resolution, extraction=extraction)
        result = await self._retrieve(message, resolution, degraded)
        yield Found(result=result)
        answer = await self._answerer.answer(
            AnswerRequest(
                message=resolution.resolved_query if resolution.revision else message.message,
                resolved=resolution.resolved_query,
                clarification=resolution.clarification,
                extraction=extraction,
                hits=result.hits,
                turns=session.turns,
                now=message.now,
            )
        )
        yield Replied(answer=answer)
        said, reply = _resources(message, extraction, resolution, answer)
        if not await self._record.append([said, reply], user_id=message.user_id):
            degraded.append("record")
        await remember(
            self._sessions,
            message.session_id,
            user_id=message.user_id,
            turns=[said.as_turn(extraction.mentions), reply.as_turn(None if answer.sources else ())],
            extraction=extraction,
            resolution=resolution,
        )
        learned = await self._learn(message, degraded)
        yield Acknowledged(
            turn_id=said.resource_id,
            memory_id=memory_id(message.user_id, said.resource_id),
            reply_id=reply.resource_id,
            degraded=tuple(dict.fromkeys(degraded)),
            learned=learned,
        )

    async def _extract(self, message: ChatMessage, degraded: list[str]) -> Extraction:
        texts = [message.message]
        try:
            try:
                [extraction] = await recognise(
                    texts, user_id=message.user_id, record=self._record, extractor=self._extractor
                )
            except StoreUnavailable as error:  # names that only the user knows are not found, the others are
                _degrade("record", error, degraded)
                [extraction] = await self._extractor.extract(texts)
                extraction = extraction.model_copy(update={"degraded": (*extraction.degraded, "record")})
        except Unavailable as error:
            _log.error("entity_extraction_failed", component=error.component, error=error.message, exc_info=True)
            degraded.append("extractor")
            return Extraction(degraded=("extractor",))
        degraded.extend(extraction.degraded)
        return extraction

    async def _resolve(self, message: ChatMessage, session: Session, degraded: list[str]) -> CoreferenceResult:
        request = ResolutionRequest.in_session(session, message.message, now=message.now)
        try:
            result = await self._resolver.resolve(request)
        except Unavailable as error:
            _degrade("resolver", error, degraded)
            return CoreferenceResult(original_query=message.message, resolved_query=message.message)
        degraded.extend(result.degraded)
        return result

    async def _retrieve(self, message: ChatMessage, resolution: CoreferenceResult, degraded: list[str]) -> SearchResult:
        request = SearchRequest(
            query=resolution.resolved_query, user_id=message.user_id, top_k=message.top_k, now=message.now
        )
        try:
            result = await self._retriever.search(request)
        except Unavailable as error:
            _degrade("retriever", error, degraded)
            return SearchResult(degraded=("retriever",))
        degraded.extend(result.degraded)
        return result

    async def _learn(self, message: ChatMessage, degraded: list[str]) -> LearnReport | None:
        if not message.wait:
            self._learning.notify(user_id=message.user_id)
            return None
        try:
            return await self._learning.learn(user_id=message.user_id)
        except Unavailable as error:  # the turn itself is safe: it stays on the backlog
            _degrade("learner", error, degraded)
            return None


def _degrade(part: str, error: Unavailable, degraded: list[str]) -> None:
    _log.warning("chat_degraded", part=part, component=error.component, error=error.message)
    degraded.append(part)


def _resources(
    message: ChatMessage, extraction: Extraction, resolution: CoreferenceResult, answer: Answer
) -> tuple[Resource, Resource]:
    said_id = resource_id(message.user_id, message.session_id, message.turn_id) if message.turn_id else new_id()
    said = Resource(
        resource_id=said_id,
        user_id=message.user_id,
        session_id=message.session_id,
        content=message.message,
        resolved=resolution.resolved_query if resolution.resolutions or resolution.revision else None,
        understanding=extraction,
        metadata=message.metadata,
        created_at=message.now,
    )
    reply = Resource(
        resource_id=resource_id(message.user_id, message.session_id, f"reply to {said_id}"),
        user_id=message.user_id,
        session_id=message.session_id,
        role=Role.ASSISTANT,
        content=answer.text,
        metadata={"answered_by": answer.answered_by.value},
        created_at=message.now,
        learn=False,
    )
    return said, reply
