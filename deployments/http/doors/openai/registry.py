"""The models of the OpenAI door: what answers under which name."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import Depends, Request

from ...support.assistants import Assistant
from ...support.services import Services
from .chat.dialogue_assistant import DIALOGUE_MODEL, DialogueAssistant
from .chat.memory_assistant import ExtractiveAssistant, MemoryAssistant
from .errors import ModelNotFound

MODEL = "jiyi"
"""Memory, and the first language model that answers; without one the extractive answers of `/chat`."""
Assistants = Mapping[str, Assistant]


def assistants_of(services: Services) -> dict[str, Assistant]:
    """What answers, by the name of its model: `jiyi`, the dialogue graph where LangGraph is installed, the language
    models, and what else the services bring.
    """
    upstreams, bounds = services.upstreams, services.prompt_bounds
    own: Assistant = ExtractiveAssistant(services)
    named: dict[str, Assistant] = {}
    if upstreams is not None:
        own = MemoryAssistant(services, upstreams, model=None, bounds=bounds)
        named = {name: MemoryAssistant(services, upstreams, model=name, bounds=bounds) for name in upstreams.model_ids}
    has_dialogue = services.make_dialogue is not None
    dialogue = {DIALOGUE_MODEL: DialogueAssistant(services, aside=own)} if has_dialogue else {}
    return {**named, MODEL: own, **dialogue, **services.assistants}


def assistant_named(assistants: Assistants, model: str) -> Assistant:
    """The assistant of a model.

    Raises:
        ModelNotFound: There is none.
    """
    if (found := assistants.get(model)) is not None:
        return found
    raise ModelNotFound(f"There is no model {model!r} for conversations; there are: {', '.join(assistants)}.")


def _assistants(request: Request) -> Assistants:
    found: Assistants = request.app.state.assistants
    return found


AssistantsDep = Annotated[Assistants, Depends(_assistants)]
"""Route parameter: what answers, by the name of its model."""
