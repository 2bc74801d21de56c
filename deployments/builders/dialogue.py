"""The dialogue graph of the service and the personas of its settings (003)."""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from pydantic import TypeAdapter, ValidationError

from memory.answering.answers import Answerer
from memory.dialogue.memory_system import MemorySystem
from memory.ports.models.chat_models import ChatModel
from memory.ports.stores.record import SystemOfRecord
from memory.values.personas import PersonaProfile

from ..config.settings import AppArgs

if TYPE_CHECKING:
    from memory.dialogue.graph import DialogueGraph

_PROFILES = TypeAdapter(tuple[PersonaProfile, ...])


def read_personas(path: Path | None) -> tuple[PersonaProfile, ...]:
    """The personas of a file.

    Raises:
        ValueError: It cannot be read, or is no list of personas; the message says what is wrong.
    """
    if path is None:
        return ()
    try:
        profiles = _PROFILES.validate_python(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, yaml.YAMLError) as error:
        raise ValueError(f"dialogue.personas: {path} cannot be read: {error}") from error
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors())
        raise ValueError(f"dialogue.personas: {path}: {'; '.join(problems)}") from error
    ids = [profile.persona_id for profile in profiles]
    if len(set(ids)) < len(ids):
        raise ValueError(f"dialogue.personas: {path} has two personas with the same persona_id")
    return profiles


def dialogue_maker(
    args: AppArgs, *, model: ChatModel | None, answerer: Answerer
) -> "Callable[[MemorySystem, SystemOfRecord], DialogueGraph] | None":
    """Makes the dialogue graph; None where the extra `langgraph` is not installed.

    Args:
        args: The settings.
        model: Writes replies.
        answerer: Writes those for which no model does.
    """
    if find_spec("langgraph") is None:
        return None
    return partial(_make_dialogue, args, model, answerer)


def _make_dialogue(
    args: AppArgs, model: ChatModel | None, answerer: Answerer, memory: MemorySystem, record: SystemOfRecord
) -> "DialogueGraph":
    from memory.dialogue.checkpoints import RecordSaver
    from memory.dialogue.graph import DialogueGraph
    from memory.dialogue.tools import memory_tool

    settings = args.dialogue
    return DialogueGraph(
        memory,
        model=model,
        answerer=answerer,
        tools=[memory_tool(memory)],
        checkpointer=RecordSaver(record),
        max_reflections=settings.max_reflections,
        consolidate_every=settings.consolidate_every,
        max_tokens=settings.max_reply_tokens,
    )
