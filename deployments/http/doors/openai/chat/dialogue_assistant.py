"""The model `jiyi-dialogue`: the dialogue graph of document 003, without LangGraph on the caller's side."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import override

from memory.answering.answers import AnsweredBy
from memory.dialogue.state import DialogueMessage
from memory.values.base import Scalar, Value
from memory.values.errors import InvalidField
from memory.values.ids import new_id
from memory.values.personas import DEFAULT_PERSONA, PersonaId

from ....support.assistants import Assistant, Chunk, Conversation
from ....support.services import Services
from ..reading import last_said, text_of
from .memory_assistant import in_pieces, said_by_person
from .memory_use import MemoryUse

if TYPE_CHECKING:
    from memory.dialogue.graph import DialogueGraph

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

    Besides what clients of OpenAI send, `persona_ids` says who takes part, and `character_state` how they are.

    Args:
        services: With a dialogue graph.
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    @override
    async def reply(self, conversation: Conversation) -> AsyncIterator[Chunk]:
        options = _options(conversation)
        message = said_by_person(conversation)
        if not message:
            raise InvalidField(
                "messages: the last message of the user has no text", field="messages", allowed="a text of the user"
            )
        graph = self._graph()
        result = await graph.generate_response(
            message,
            user_id=conversation.user_id or f"nobody-{new_id()}",
            session_id=conversation.session_id,
            messages=_history(conversation),
            character_state=options.character_state,
            persona_ids=options.persona_ids,
            turn_id=conversation.turn_id,
            learns=conversation.learns and conversation.user_id is not None,
        )
        self._services.count_degraded(result.degraded)
        use = MemoryUse(
            answered_by=result.answered_by or AnsweredBy.EXTRACTIVE,
            session_id=conversation.session_id if conversation.user_id else None,
            learned=bool(result.stored and result.stored["turn_id"]),
            degraded=list(result.degraded),
        )
        for chunk in in_pieces(result.ai_response, use):
            yield chunk

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


def _history(conversation: Conversation) -> list[DialogueMessage]:
    """What was said before, as texts; instructions of the caller are not part of it."""
    before = conversation.messages[: last_said(conversation.messages)]
    said = [(str(message.get("role")), text_of(message)) for message in before]
    return [DialogueMessage(role=role, content=text) for role, text in said if role in ("user", "assistant") and text][
        -_HISTORY:
    ]
