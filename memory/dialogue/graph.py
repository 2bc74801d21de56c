"""The dialogue graph on LangGraph: its nodes, what leads from one to the next, and a turn from begin to end (003 §3).

    retrieve_memory ─┬─ prepare_context ── build_prompt ── call_llm ─┬─ post_process ─┬─ store_memory ─┬─ END
                     │        ↑                ↑   ↑         ↑       │                │        ↑       │
                     │        └ next_speaker   │   reflect   │       └ approve_tools  ├ reflect│       └ consolidate
                     │                         │             │              ↓         └ next_speaker
                     │                         │             └───────── use_tools              │
                     └─ ask_back, confirm_forgetting, branches of the application ─────────────┘

A turn is a thread of checkpoints of its own. A turn that was interrupted, or whose process was killed, goes on where it
was when it is asked for again by its `turn_id`; one that has ended leaves no checkpoint behind.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from langsmith import tracing_context

from ..answering.answers import AnsweredBy, Answerer
from ..answering.extractive import ExtractiveAnswerer
from ..checkpoints.places import thread_of
from ..language.keywords import KeywordAnalyzer
from ..ports.models.chat_models import ChatModel
from ..values.base import Scalar, Value, utc_now
from ..values.errors import InvalidField, NotFound
from ..values.hits import CosineBounds, Hit
from ..values.ids import new_id
from ..values.personas import DEFAULT_PERSONA
from .memory_system import DialogueMemory
from .nodes import DialogueNodes
from .state import CharacterState, DialogueMessage, DialogueState, Route, SaidReply, SavedCall, StoredTurn, Task
from .tools import DialogueTool, Tools

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver

MAX_PERSONAS = 8
"""Personas of one conversation."""
MAX_STATE = 32
"""Entries of a character state."""
_STEPS_A_PERSONA = 12
_NODES = ("retrieve_memory", "prepare_context", "build_prompt", "call_llm", "post_process", "store_memory")
"""The nodes of 003 §3.1, in its order."""


@dataclass(frozen=True)
class Branch:
    """A way of its own for some turns, by their intent, memory or character state, in place of the model (003 §5).

    Args:
        name: Of its node.
        when: Whether a turn takes it, by the state after `retrieve_memory`; the first branch that does is taken.
        reply: What is said.
    """

    name: str
    when: Callable[[DialogueState], bool]
    reply: Callable[[DialogueState], Awaitable[str]]


class DialogueResult(Value):
    """What became of a turn.

    Args:
        ai_response: The reply; empty while the turn waits.
        updated_messages: The history with this turn.
        replies: What each persona said.
        answered_by: `extractive` where no model wrote it.
        resolved_query: The message with its references resolved.
        sources: The memories that the reply is made from: those of the prompt, or those that are quoted.
        waits_for: The calls of tools that a person has to allow, by `resume`; empty for a turn that has ended.
        consolidated: The run that consolidates memories, where one was started.
    """

    turn_id: str
    ai_response: str
    updated_messages: tuple[DialogueMessage, ...]
    replies: tuple[SaidReply, ...] = ()
    answered_by: AnsweredBy | None = None
    resolved_query: str = ""
    sources: tuple[Hit, ...] = ()
    route: Route | None = None
    current_task: str = ""
    tasks_history: tuple[Task, ...] = ()
    waits_for: tuple[SavedCall, ...] = ()
    stored: StoredTurn | None = None
    consolidated: str = ""
    degraded: tuple[str, ...] = ()


class DialogueGraph:
    """Runs dialogue turns.

    Traces of LangSmith are off for its turns, whatever the environment says: they would hold texts of users.

    Args:
        memory: Retrieves and stores.
        model: Writes the replies; without one they are quotations of memory, and say so (`answered_by`).
        answerer: Writes those.
        tools: Those that the model may use.
        branches: Ways of an application's own.
        checkpointer: Keeps unfinished turns; without one a killed turn is lost, and no tool can wait for approval.
        max_reflections: How often a reply that is not good is asked for again.
        max_tool_rounds: How often the model may use tools in one reply.
        consolidate_every: After so many turns of a conversation memories are consolidated; 0 for never.
        max_tokens: The longest reply, in the model's tokens.
        now: The clock.

    Raises:
        ValueError: A tool waits for approval, and there is no checkpointer.
    """

    def __init__(
        self,
        memory: DialogueMemory,
        *,
        model: ChatModel | None = None,
        answerer: Answerer | None = None,
        tools: Sequence[DialogueTool] = (),
        branches: Sequence[Branch] = (),
        checkpointer: "BaseCheckpointSaver[Any] | None" = None,
        max_reflections: int = 1,
        max_tool_rounds: int = 3,
        consolidate_every: int = 0,
        max_tokens: int = 1_024,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        if checkpointer is None and any(tool.needs_approval for tool in tools):
            raise ValueError("checkpointer: a tool that waits for approval needs one")
        self._tools = Tools(tools)
        self._branches = tuple(branches)
        self._checkpointer = checkpointer
        self._max_reflections = max_reflections
        self._max_tool_rounds = max_tool_rounds
        self._consolidate_every = consolidate_every
        self._now = now
        self._nodes = DialogueNodes(
            memory=memory,
            answerer=answerer or ExtractiveAnswerer(analyzer=KeywordAnalyzer(), min_cosine=CosineBounds()),
            model=model,
            tools=self._tools,
            max_reflections=max_reflections,
            max_tool_rounds=max_tool_rounds,
            max_tokens=max_tokens,
        )
        self.graph = self._build()
        self.app = self.graph.compile(checkpointer=checkpointer)

    async def generate_response(
        self,
        user_text: str,
        *,
        user_id: str,
        session_id: str = "default",
        messages: Sequence[DialogueMessage] = (),
        character_state: Mapping[str, Scalar] | None = None,
        persona_ids: Sequence[str] = (DEFAULT_PERSONA,),
        current_task: str = "",
        tasks_history: Sequence[Task] = (),
        turn_id: str | None = None,
        learns: bool = True,
    ) -> DialogueResult:
        """Replies to a message (003 §4).

        Args:
            user_text: The message.
            user_id: Who says it.
            session_id: Its conversation.
            messages: The history of the conversation, oldest first, as the caller keeps it.
            character_state: As the caller keeps it, over that of the persona.
            persona_ids: Who takes part in the conversation; whoever the message names replies.
            current_task: What the user waits for; as the last result had it.
            tasks_history: As the last result had it.
            turn_id: Names the turn: repeated, it is stored once, and goes on where it was interrupted.
            learns: Whether message and reply are stored.

        Raises:
            InvalidField: The text is blank, or there are no personas or too many.
            Unavailable: The session cannot be read, or the turn not be stored; repeat it with its `turn_id`.
        """
        if not user_text.strip():
            raise InvalidField("user_text: must not be blank", field="user_text", allowed="a text")
        if not 1 <= len(persona_ids) <= MAX_PERSONAS or len(set(persona_ids)) < len(persona_ids):
            raise InvalidField(
                "persona_ids: must name different personas", field="persona_ids", allowed=f"1 to {MAX_PERSONAS}"
            )
        turn_id = turn_id or new_id()
        config = self._config(user_id, session_id, turn_id, personas=len(persona_ids))
        initial: DialogueState | None = DialogueState(
            user_input=user_text,
            messages=list(messages),
            character_state=dict(character_state or {}),
            persona_ids=list(persona_ids),
            current_task=current_task,
            tasks_history=list(tasks_history),
            user_id=user_id,
            session_id=session_id,
            turn_id=turn_id,
            said_at=self._now().isoformat(),
            learns=learns,
        )
        if self._checkpointer is not None:
            begun = await self.app.aget_state(config)
            if begun.interrupts:
                return _waiting(turn_id, begun.values, begun.interrupts)
            if begun.next:
                initial = None
        return await self._run(initial, config, turn_id)

    async def resume(
        self,
        *,
        user_id: str,
        turn_id: str,
        approved: bool | Mapping[str, bool],
        session_id: str = "default",
        personas: int = MAX_PERSONAS,
    ) -> DialogueResult:
        """Goes on with a turn that waits for a person.

        Args:
            user_id: The user.
            turn_id: The turn.
            approved: Whether all calls are allowed, or which, by their id.
            session_id: Its conversation.
            personas: How many take part at most.

        Raises:
            NotFound: No such turn waits.
            Unavailable: As for `generate_response`.
        """
        config = self._config(user_id, session_id, turn_id, personas=personas)
        begun = await self.app.aget_state(config) if self._checkpointer is not None else None
        if begun is None or not begun.interrupts:
            raise NotFound(f"turn_id: no turn {turn_id!r} of this conversation waits")
        answer = dict(approved) if isinstance(approved, Mapping) else approved
        return await self._run(Command(resume={"approved": answer}), config, turn_id)

    def update_character_state(self, state: Mapping[str, Scalar], changes: Mapping[str, Scalar]) -> CharacterState:
        """The character state after changes; a value of None removes its entry.

        Raises:
            InvalidField: It has too many entries.
        """
        updated: CharacterState = {name: value for name, value in {**state, **changes}.items() if value is not None}
        if len(updated) > MAX_STATE:
            raise InvalidField(
                f"character_state: {len(updated)} entries are too many",
                field="character_state",
                allowed=f"at most {MAX_STATE}",
            )
        return updated

    async def reset(self, *, user_id: str, session_id: str = "default") -> int:
        """Forgets the unfinished turns of a conversation; how many there were. What is remembered of it stays."""
        if self._checkpointer is None:
            return 0
        owner = {"user_id": user_id, "session_id": session_id}
        threads = {
            saved.config["configurable"]["thread_id"] async for saved in self._checkpointer.alist(None, filter=owner)
        }
        for thread in threads:
            await self._checkpointer.adelete_thread(thread)
        return len(threads)

    async def _run(
        self, given: "DialogueState | Command[Any] | None", config: "RunnableConfig", turn_id: str
    ) -> DialogueResult:
        with tracing_context(enabled=False):
            final = await self.app.ainvoke(given, config, durability="sync" if self._checkpointer is not None else None)
        if interrupts := final.get("__interrupt__"):
            return _waiting(turn_id, final, interrupts)
        if self._checkpointer is not None:
            await self._checkpointer.adelete_thread(config["configurable"]["thread_id"])
        return DialogueResult(
            turn_id=turn_id,
            ai_response=final["ai_response"],
            updated_messages=tuple(final["messages"]),
            replies=tuple(final["replies"]),
            answered_by=AnsweredBy(final["answered_by"]),
            resolved_query=final.get("resolved_query", ""),
            sources=tuple(Hit.model_validate(source) for source in final.get("sources", ())),
            route=Route(final["route"]),
            current_task=final.get("current_task", ""),
            tasks_history=tuple(final.get("tasks_history", ())),
            stored=final["stored"],
            consolidated=final.get("consolidated", ""),
            degraded=tuple(final.get("degraded", ())),
        )

    def _config(self, user_id: str, session_id: str, turn_id: str, *, personas: int) -> "RunnableConfig":
        owner = {"user_id": user_id, "session_id": session_id}
        steps = personas * _STEPS_A_PERSONA * (1 + self._max_reflections) * (1 + self._max_tool_rounds)
        thread = thread_of(user_id, session_id, turn_id)
        return {"configurable": {"thread_id": thread}, "metadata": owner, "recursion_limit": steps}

    def _build(self) -> "StateGraph[DialogueState, None, DialogueState, DialogueState]":
        graph = StateGraph(DialogueState)
        nodes = self._nodes
        for name in _NODES:
            graph.add_node(name, getattr(nodes, name))
        for name in ("approve_tools", "use_tools", "reflect", "next_speaker", "ask_back", "confirm_forgetting"):
            graph.add_node(name, getattr(nodes, name))
        graph.add_node("consolidate", nodes.consolidate_memories)
        for branch in self._branches:
            node: Any = nodes.branch(branch.reply)  # a protocol with a parameter of this name is asked for
            graph.add_node(branch.name, node)
            graph.add_edge(branch.name, "store_memory")
        graph.add_edge(START, "retrieve_memory")
        aside = ["ask_back", "confirm_forgetting", *(branch.name for branch in self._branches)]
        graph.add_conditional_edges("retrieve_memory", self._after_retrieval, ["prepare_context", *aside])
        graph.add_edge("prepare_context", "build_prompt")
        graph.add_edge("build_prompt", "call_llm")
        graph.add_conditional_edges("call_llm", self._after_model, ["approve_tools", "use_tools", "post_process"])
        graph.add_edge("approve_tools", "use_tools")
        graph.add_edge("use_tools", "call_llm")
        after = ["reflect", "next_speaker", "store_memory"]
        graph.add_conditional_edges("post_process", self._after_reply, after)
        graph.add_edge("reflect", "build_prompt")
        graph.add_edge("next_speaker", "prepare_context")
        graph.add_edge("ask_back", "store_memory")
        graph.add_edge("confirm_forgetting", "store_memory")
        graph.add_conditional_edges("store_memory", self._after_storing, ["consolidate", END])
        graph.add_edge("consolidate", END)
        return graph

    def _after_retrieval(self, state: DialogueState) -> str:
        if state["route"] == Route.FORGET.value:
            return "confirm_forgetting"
        taken = next((branch.name for branch in self._branches if branch.when(state)), None)
        if taken is not None:
            return taken
        return "ask_back" if state["route"] == Route.CLARIFY.value else "prepare_context"

    def _after_model(self, state: DialogueState) -> str:
        calls = state.get("calls", [])
        if not calls:
            return "post_process"
        return "approve_tools" if self._tools.to_approve(calls) else "use_tools"

    def _after_reply(self, state: DialogueState) -> str:
        if state.get("problems"):
            return "reflect"
        return "next_speaker" if state.get("to_speak") else "store_memory"

    def _after_storing(self, state: DialogueState) -> str:
        turns = sum(message["role"] == "user" for message in state["messages"])
        is_due = self._consolidate_every and turns and turns % self._consolidate_every == 0
        return "consolidate" if is_due and state["stored"]["turn_id"] else END


def _waiting(turn_id: str, state: Mapping[str, Any], interrupts: Sequence[Any]) -> DialogueResult:
    calls = [call for interrupted in interrupts for call in interrupted.value["calls"]]
    return DialogueResult(
        turn_id=turn_id, ai_response="", updated_messages=tuple(state["messages"]), waits_for=tuple(calls)
    )
