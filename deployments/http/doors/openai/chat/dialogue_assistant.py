"""The model `jiyi-dialogue`: the dialogue graph of document 003, without LangGraph on the caller's side."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import override

from memory.answering.answers import AnsweredBy
from memory.dialogue.state import DialogueMessage
from memory.dialogue.tasks import TaskMemory
from memory.values.base import Scalar, Value
from memory.values.errors import InvalidField
from memory.values.ids import new_id
from memory.values.personas import DEFAULT_PERSONA, PersonaId

from ....support.assistants import Assistant, Chunk, Conversation
from ....support.services import Services
from ..reading import is_generated, last_said, text_of
from .memory_assistant import in_pieces, said_by_person
from .memory_use import MemoryUse, Source

if TYPE_CHECKING:
    from memory.dialogue.graph import DialogueGraph, DialogueResult

DIALOGUE_MODEL = "jiyi-dialogue"
_HISTORY = 64
_REFUSED = ("tools", "functions", "response_format")
"""Options that the graph cannot honour: it has tools and a prompt of its own."""


class _Options(Value):
    persona_ids: Annotated[tuple[PersonaId, ...], Field(min_length=1, max_length=8)] = (DEFAULT_PERSONA,)
    character_state: Annotated[dict[str, Scalar], Field(max_length=32)] = {}


_OPTIONS = TypeAdapter(_Options)


class DialogueAssistant(Assistant):
    """Has the dialogue graph reply.

    Besides what clients of OpenAI send, `persona_ids` says who takes part, and `character_state` how they are. What the
    user of a session waits for is kept from one request to the next. A reply is checked before it is sent, so that its
    pieces come all at once.

    Args:
        services: With a dialogue graph.
        aside: Replies to what chat programs ask for themselves (titles, tags), without memory and without a persona.
    """

    def __init__(self, services: Services, *, aside: Assistant) -> None:
        self._services = services
        self._tasks = TaskMemory(services.record)
        self._aside = aside

    @override
    async def reply(self, conversation: Conversation) -> AsyncIterator[Chunk]:
        if is_generated(conversation.messages):
            async for chunk in self._aside.reply(_without_memory(conversation)):
                yield chunk
            return
        result = await self._answered(conversation)
        self._services.count_degraded(result.degraded)
        for chunk in in_pieces(result.ai_response, _use_of(result, conversation)):
            yield chunk

    async def _answered(self, conversation: Conversation) -> "DialogueResult":
        """The turn of the graph, with the tasks of the session before and after it."""
        options, message = _options(conversation), said_by_person(conversation)
        if not message:
            raise InvalidField(
                "messages: the last message of the user has no text", field="messages", allowed="a text of the user"
            )
        learns = conversation.learns and conversation.user_id is not None
        user_id, session_id = conversation.user_id or f"nobody-{new_id()}", conversation.session_id
        tasks = await self._tasks.load(user_id, session_id)
        result = await self._graph().generate_response(
            message,
            user_id=user_id,
            session_id=session_id,
            messages=_history(conversation),
            character_state=options.character_state,
            persona_ids=options.persona_ids,
            current_task=tasks.current_task,
            tasks_history=tasks.tasks_history,
            turn_id=conversation.turn_id,
            learns=learns,
        )
        if learns and not result.waits_for:
            await self._tasks.save(
                user_id,
                session_id,
                before=tasks,
                current_task=result.current_task,
                tasks_history=result.tasks_history,
            )
        return result

    def _graph(self) -> "DialogueGraph":
        graph = self._services.dialogue
        assert graph is not None  # noqa: S101 - the registry has this assistant only where there is one
        return graph


def _options(conversation: Conversation) -> _Options:
    refused = next((name for name in _REFUSED if conversation.options.get(name)), None)
    if refused is not None:
        raise InvalidField(
            f"{refused}: {DIALOGUE_MODEL} has a prompt and tools of its own",
            field=refused,
            allowed="nothing; another model takes it",
        )
    given = {name: conversation.options[name] for name in _Options.model_fields if name in conversation.options}
    try:
        return _OPTIONS.validate_python(given)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, problem["loc"]))
        raise InvalidField(f"{field}: {problem['msg']}", field=field, allowed=problem["msg"]) from None


def _without_memory(conversation: Conversation) -> Conversation:
    """The same for another assistant, which is to look nothing up and to learn nothing."""
    others = {name: value for name, value in conversation.options.items() if name not in _Options.model_fields}
    return replace(conversation, options=others, learns=False)


def _use_of(result: "DialogueResult", conversation: Conversation) -> MemoryUse:
    return MemoryUse(
        answered_by=result.answered_by or AnsweredBy.EXTRACTIVE,
        session_id=conversation.session_id if conversation.user_id else None,
        resolved_query=(result.resolved_query or None) if conversation.user_id else None,
        learned=bool(result.stored and result.stored["turn_id"]),
        sources=[Source.of(hit) for hit in result.sources],
        degraded=list(result.degraded),
    )


def _history(conversation: Conversation) -> list[DialogueMessage]:
    """What was said before, as texts; instructions of the caller are not part of it."""
    before = conversation.messages[: last_said(conversation.messages)]
    said = [(str(message.get("role")), text_of(message)) for message in before]
    return [DialogueMessage(role=role, content=text) for role, text in said if role in ("user", "assistant") and text][
        -_HISTORY:
    ]
