"""The state of a dialogue turn, as it goes through the graph and is saved between its nodes (003 §3.2).

It is plain JSON throughout, so that a checkpoint of one process can be read by any other.
"""

from enum import StrEnum

from typing_extensions import TypedDict

from ..values.base import Scalar

CharacterState = dict[str, Scalar]
"""The mood, the place, the energy of the character: whatever an application keeps of it, by name."""


class Route(StrEnum):
    """What becomes of a message, by its intent and by what memory holds (003 §5)."""

    CHAT = "chat"
    """It asks nothing of memory."""
    RECALL = "recall"
    """Memory holds what it asks for."""
    UNKNOWN = "unknown"
    """It asks for something that memory does not hold."""
    CLARIFY = "clarify"
    """It may mean several things: which, is asked back."""
    FORGET = "forget"
    """It asks to forget something."""


class DialogueMessage(TypedDict, total=False):
    """A message of the history; `persona` is who said it, where that was the assistant."""

    role: str
    content: str
    persona: str


class Task(TypedDict):
    """Something that the user asked for; `outcome` is `answered`, `carried_out` or `replaced`."""

    task: str
    turn_id: str
    outcome: str


class SaidReply(TypedDict):
    """What one persona replies in a turn."""

    persona_id: str
    name: str
    text: str


class SavedCall(TypedDict):
    """A tool that the model asks to use: `arguments` is JSON as it wrote them."""

    id: str
    name: str
    arguments: str


class SavedResult(TypedDict):
    """What became of a call: `text` is what the model is told."""

    id: str
    name: str
    text: str
    is_done: bool


class ToolRound(TypedDict):
    """The calls of one answer of the model, and their results; `said` is the text beside them."""

    said: str
    calls: list[SavedCall]
    results: list[SavedResult]


class RecalledPersona(TypedDict):
    """A persona for a prompt: `lines` is what is known of it, the most relevant of what was learned last."""

    persona_id: str
    name: str
    names: list[str]
    style: str
    state: CharacterState
    lines: list[str]


class StoredTurn(TypedDict):
    """What `store_memory` did: the ids in the log, empty where nothing was stored."""

    turn_id: str
    memory_id: str
    reply_id: str
    forgot: bool


class DialogueState(TypedDict, total=False):
    """All that nodes read and write; the first thirteen keys are those of 003 §3.2.

    Attributes:
        user_input: The message.
        messages: The whole history, the turn included once it is stored.
        relevant_memories: Lines of memory that belong in the prompt, best first.
        persona_info: Lines about the persona that speaks.
        conversation_history: The latest messages, as many as the prompt holds.
        dialogue_style: The style as an instruction.
        character_state_prompt: The character state as the prompt says it.
        prompt_inputs: What fills the template.
        character_state: Given by the caller, who keeps it.
        current_task: What the user asked for last and has not got yet; empty for nothing.
        tasks_history: Earlier tasks, oldest first.
        ai_response_raw: What the model answered.
        ai_response: The reply.
        user_id: The user.
        session_id: The conversation.
        turn_id: Names the turn: it is stored once for it.
        said_at: When the message was sent, ISO 8601.
        learns: Whether message and reply are stored.
        persona_ids: Who takes part in the conversation.
        personas: The same as they were recalled.
        persona_id: Who speaks.
        to_speak: Who replies after that.
        replies: What was replied in this turn so far.
        retrieved: `RetrievedContext` as JSON; empty once the turn is stored.
        resolved_query: The message with its references resolved.
        sources: The memories that the reply is made from, as JSON: those of the prompt, or those that are quoted.
        route: What becomes of the message.
        intents: What it is for, as the reader found.
        language: Of the reply, `memory.language.written.Language`.
        tool_rounds: What the model asked of tools in this turn.
        calls: Calls that are not carried out yet.
        answered_by: `language_model` or `extractive`.
        problems: What is wrong with the reply.
        reflections: How often the model was asked again.
        degraded: Components that could not be asked.
        stored: What was stored.
        consolidated: The run of the job that consolidation started.
    """

    user_input: str
    messages: list[DialogueMessage]
    relevant_memories: list[str]
    persona_info: list[str]
    conversation_history: list[DialogueMessage]
    dialogue_style: str
    character_state_prompt: str
    prompt_inputs: dict[str, str]
    character_state: CharacterState
    current_task: str
    tasks_history: list[Task]
    ai_response_raw: str
    ai_response: str

    user_id: str
    session_id: str
    turn_id: str
    said_at: str
    learns: bool
    persona_ids: list[str]
    personas: list[RecalledPersona]
    persona_id: str
    to_speak: list[str]
    replies: list[SaidReply]
    retrieved: dict[str, object]
    resolved_query: str
    sources: list[dict[str, object]]
    route: str
    intents: list[str]
    language: str
    tool_rounds: list[ToolRound]
    calls: list[SavedCall]
    answered_by: str
    problems: list[str]
    reflections: int
    degraded: list[str]
    stored: StoredTurn
    consolidated: str
