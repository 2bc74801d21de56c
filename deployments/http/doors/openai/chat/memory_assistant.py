"""The model `jiyi`: conversations continued with memory, by a language model where there is one."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import structlog
from typing_extensions import override

from memory.answering.answers import AnsweredBy
from memory.chat.messages import Acknowledged, ChatContext, ChatMessage, Replied, Understood
from memory.language.phrases import phrases_for
from memory.ports.models.chat_models import LANGUAGE_MODEL
from memory.values.errors import JiyiError, ModelUnavailable
from memory.values.understanding.readings import Intent

from .....remote.chat_upstream import ChatUpstreams
from ....schemas.fields import MAX_TEXT_CHARACTERS
from ....support.assistants import Assistant, Chunk, Conversation, PromptBounds
from ....support.services import Services
from ..reading import MAX_READ_CHARACTERS, last_said, text_of, turns_before
from .memory_use import MemoryUse, Source
from .prompt import memory_block, tokens_left, with_block

_PIECE_CHARACTERS = 24
_log = structlog.get_logger(__name__)


class ExtractiveAssistant(Assistant):
    """Replies as `/chat` does, without a language model: it quotes memory, and learns in the same turn."""

    def __init__(self, services: Services) -> None:
        self._services = services

    @override
    def reply(self, conversation: Conversation) -> AsyncIterator[Chunk]:
        return self.quote(conversation)

    async def quote(self, conversation: Conversation, *, without: Sequence[str] = ()) -> AsyncIterator[Chunk]:
        """The reply, piece by piece.

        Args:
            conversation: What is to be continued.
            without: Parts that were to answer and are away: they are told and counted as degraded.

        Raises:
            StoreUnavailable: What was said could not be kept.
        """
        message, user_id = said_by_person(conversation), conversation.user_id
        if user_id is None or not message or not conversation.learns:
            phrases = phrases_for([text_of(each) for each in reversed(conversation.messages)])
            text = phrases.nobody if user_id is None else phrases.unwritten
            for chunk in in_pieces(text, MemoryUse(answered_by=AnsweredBy.EXTRACTIVE)):
                yield chunk
            return
        text, use = "", MemoryUse(answered_by=AnsweredBy.EXTRACTIVE, session_id=conversation.session_id)
        turn = ChatMessage(
            user_id=user_id,
            session_id=conversation.session_id,
            message=message,
            turn_id=conversation.turn_id,
            earlier=_earlier(conversation),
            corpus_ids=await self._services.chat_corpora(None, user_id=user_id),
            now=conversation.now,
        )
        async for event in self._services.chat.run(turn):
            match event:
                case Understood():
                    use.resolved_query = event.resolution.resolved_query
                case Replied():
                    text, use.answered_by = event.answer.text, event.answer.answered_by
                    use.sources = [Source.of(hit) for hit in event.answer.sources]
                case Acknowledged():
                    use.degraded = list(dict.fromkeys((*without, *event.degraded)))
                    use.learned = event.forgotten is None
                    self._services.count_degraded(use.degraded)
        for chunk in in_pieces(text, use):
            yield chunk


class MemoryAssistant(Assistant):
    """Has a language model continue conversations, which is told what memory holds.

    Where any of the language models may answer and all are away, it quotes memory instead and learns all the same, as
    `/chat` does. What has no person or nothing to look up has no such answer: the error stays.

    Args:
        services: Find and learn.
        upstreams: The language models.
        model: The one that is asked, and no other answers; None for the first that answers.
        bounds: How long the prompt may be.
    """

    def __init__(
        self, services: Services, upstreams: ChatUpstreams, *, model: str | None, bounds: PromptBounds
    ) -> None:
        self._services = services
        self._upstreams = upstreams
        self._model = model
        self._bounds = bounds
        self._otherwise = ExtractiveAssistant(services)
        self._learning: set[asyncio.Task[None]] = set()

    @override
    async def reply(self, conversation: Conversation) -> AsyncIterator[Chunk]:
        message = said_by_person(conversation) if conversation.learns and conversation.user_id is not None else ""
        left = tokens_left(conversation.messages, max_tokens=self._bounds.max_tokens)
        messages, use = conversation.messages, MemoryUse(answered_by=AnsweredBy.LANGUAGE_MODEL)
        if message and conversation.user_id is not None:
            found = await self._services.entities.before_reply(
                message,
                conversation.session_id,
                conversation.user_id,
                earlier=_earlier(conversation),
                corpus_ids=await self._services.chat_corpora(None, user_id=conversation.user_id),
            )
            messages = with_block(messages, _told(found, min(left, self._bounds.memory_tokens)))
            use.session_id, use.resolved_query = conversation.session_id, found.resolved_query
            use.sources = [Source.of(hit) for hit in found.memories]
            use.degraded = list(found.degraded)
        text, has_begun, is_away = "", False, False
        held: list[Chunk] = []
        try:
            async for chunk in self._upstreams.stream(messages, conversation.options, model=self._model):
                has_begun = True
                text += _text_in(chunk)
                if held or not chunk.get("choices") or any(c.get("finish_reason") for c in chunk["choices"]):
                    held.append(chunk)
                else:
                    yield chunk
        except (GeneratorExit, asyncio.CancelledError):  # the client went away, and the person said it all the same
            if message:
                self._learn_in_background(conversation, message, text)
            raise
        except ModelUnavailable as error:
            if has_begun or not message or self._model is not None:
                raise
            _log.warning("extractive_answer_used", component=LANGUAGE_MODEL, error=error.message)
            is_away = True
        if is_away:
            async for chunk in self._otherwise.quote(conversation, without=(LANGUAGE_MODEL,)):
                yield chunk
            return
        self._services.count_degraded(use.degraded)
        if message:
            use.learned = await self._learn(conversation, message, text)
        last, *rest = held or [_finished()]
        yield last | {"jiyi": use.as_chunk()}
        for chunk in rest:
            yield chunk

    async def _learn(self, conversation: Conversation, message: str, reply: str) -> bool:
        """Writes the message and the reply down; False where the message asked to forget something."""
        if conversation.user_id is None:
            return False
        kept = await self._services.entities.after_reply(
            message,
            conversation.session_id,
            conversation.user_id,
            reply=reply[:MAX_TEXT_CHARACTERS],
            turn_id=conversation.turn_id,
            said_at=conversation.now,
            earlier=_earlier(conversation),
            wait=False,
        )
        self._services.count_degraded(kept.degraded)
        return kept.forgotten is None

    def _learn_in_background(self, conversation: Conversation, message: str, reply: str) -> None:
        async def learn() -> None:
            try:
                await self._learn(conversation, message, reply)
            except JiyiError as error:
                _log.warning("abandoned_message_not_learned", error=error.message)

        task = asyncio.create_task(learn())
        self._learning.add(task)
        task.add_done_callback(self._learning.discard)


def said_by_person(conversation: Conversation) -> str:
    """What the person said last; empty where that is no text, or one that is too long to be read."""
    place = last_said(conversation.messages)
    text = "" if place is None else text_of(conversation.messages[place])
    return text if len(text) <= MAX_READ_CHARACTERS else ""


def _earlier(conversation: Conversation) -> Any:
    place = last_said(conversation.messages)
    return turns_before(conversation.messages, place or 0, at=conversation.now)


def _told(found: ChatContext, max_tokens: int) -> str:
    """What the prompt says of memory; for a request to forget, how to reply to it."""
    asks_to_forget = found.forgotten is not None or Intent.FORGET in found.extraction.intents
    return found.context if asks_to_forget else memory_block(found.context, max_tokens=max_tokens)


def _text_in(chunk: Chunk) -> str:
    choices: Sequence[Any] = chunk.get("choices") or ()
    return "".join(str((c.get("delta") or {}).get("content") or "") for c in choices if not c.get("index"))


def in_pieces(text: str, use: MemoryUse) -> list[Chunk]:
    """A whole text as chunks; the last one says what memory did."""
    parts = [text[start : start + _PIECE_CHARACTERS] for start in range(0, len(text), _PIECE_CHARACTERS)]
    deltas = [{"role": "assistant", "content": ""}, *({"content": part} for part in parts)]
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    return [*chunks, _finished() | {"jiyi": use.as_chunk()}]


def _finished() -> Chunk:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
