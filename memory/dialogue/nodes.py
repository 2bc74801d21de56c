"""The nodes of the dialogue graph: each reads the state and returns what it changes of it (003 §3.1)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import structlog
from langgraph.types import interrupt

from ..answering.answers import AnsweredBy, Answerer, Assistant
from ..answering.replies import asks_memory
from ..chat.prompt_context import memory_line
from ..extraction.comparable_text import ComparableText
from ..language.phrases import phrases_for
from ..language.written import Language
from ..ports.models.chat_models import LANGUAGE_MODEL, ChatModel, ChatRequest
from ..values.errors import ModelUnavailable
from ..values.hits import Hit
from ..values.understanding.readings import Intent
from .memory_system import ConversationTurn, DialogueMemory, RetrievedContext
from .prompt import describe_state, fit_history, model_messages, prompt_inputs
from .replies import clean_reply, problems_of
from .state import (
    DialogueMessage,
    DialogueState,
    RecalledPersona,
    Route,
    SaidReply,
    SavedCall,
    StoredTurn,
    Task,
    ToolRound,
)
from .styles import choose_style
from .tools import REFUSED, Tools, ToolUser, result_of

Update = dict[str, Any]
_CLOSES_TASK = frozenset({Intent.THANKS, Intent.CONFIRM})
_log = structlog.get_logger(__name__)


class DialogueNodes:
    """What the nodes of a graph do.

    Args:
        memory: Retrieves, stores and consolidates.
        answerer: Replies where no model does.
        model: Writes replies; None where none is configured.
        tools: Those that the model may use.
        max_reflections: How often a reply that is not good is asked for again.
        max_tool_rounds: How often the model may use tools in one reply.
        max_tokens: The longest reply, in the model's tokens.
    """

    def __init__(
        self,
        *,
        memory: DialogueMemory,
        answerer: Answerer,
        model: ChatModel | None,
        tools: Tools,
        max_reflections: int,
        max_tool_rounds: int,
        max_tokens: int,
    ) -> None:
        self._memory = memory
        self._answerer = answerer
        self._model = model
        self._tools = tools
        self._max_reflections = max_reflections
        self._max_tool_rounds = max_tool_rounds
        self._max_tokens = max_tokens

    async def retrieve_memory(self, state: DialogueState) -> Update:
        """Reads the message, finds what concerns it, and decides by both what becomes of it."""
        context = await self._memory.retrieve_context(
            state["user_input"],
            user_id=state["user_id"],
            session_id=state["session_id"],
            persona_ids=state["persona_ids"],
            task=state.get("current_task", ""),
            at=datetime.fromisoformat(state["said_at"]),
        )
        speakers = choose_speakers(state, context.personas)
        return {
            "retrieved": context.model_dump(mode="json"),
            "resolved_query": context.understood.resolution.resolved_query,
            "relevant_memories": [memory_line(hit, context.language) for hit in context.memories],
            "sources": _as_json(context.memories),
            "personas": list(context.personas),
            "persona_id": speakers[0],
            "to_speak": speakers[1:] if self._model is not None else [],
            "intents": [intent.value for intent in context.understood.extraction.intents],
            "language": context.language.value,
            "route": route_of(context).value,
            "degraded": list(context.degraded),
        }

    async def prepare_context(self, state: DialogueState) -> Update:
        """Chooses history, style and task, and words persona and character state for the prompt."""
        persona = speaking(state)
        character = {**persona["state"], **state.get("character_state", {})}
        return {
            "persona_info": persona["lines"],
            "conversation_history": fit_history(state.get("messages", [])),
            "dialogue_style": choose_style(
                state["intents"], of_state=character.get("style"), of_persona=persona["style"]
            ),
            "character_state_prompt": describe_state(character),
            **_task_update(state),
        }

    async def build_prompt(self, state: DialogueState) -> Update:
        """Fills the template."""
        return {"prompt_inputs": prompt_inputs(state, name=speaking(state)["name"])}

    async def call_llm(self, state: DialogueState) -> Update:
        """Asks the model for a reply or for the use of tools; without one, or while it is away, quotes memory."""
        if self._model is None:
            return await self._quote(state)
        rounds = state.get("tool_rounds", [])
        request = ChatRequest(
            messages=model_messages(state, state["prompt_inputs"]),
            max_tokens=self._max_tokens,
            tools=self._tools.definitions if len(rounds) < self._max_tool_rounds else (),
        )
        try:
            reply = await self._model.complete(request)
        except ModelUnavailable as error:
            _log.warning("extractive_answer_used", component=LANGUAGE_MODEL, error=error.message)
            degraded = list(dict.fromkeys((*state.get("degraded", []), LANGUAGE_MODEL)))
            return {**await self._quote(state), "degraded": degraded, "to_speak": []}
        calls = [
            SavedCall(id=call.id, name=call.name, arguments=call.arguments)
            for call in (reply.tool_calls if request.tools else ())
        ]
        return {"ai_response_raw": reply.text, "calls": calls, "answered_by": AnsweredBy.LANGUAGE_MODEL.value}

    async def approve_tools(self, state: DialogueState) -> Update:
        """Waits until a person has said which calls are allowed: the graph stops here until it is resumed."""
        asked = self._tools.to_approve(state["calls"])
        allowed = interrupt({"turn_id": state["turn_id"], "calls": asked})["approved"]
        refused = [call for call in asked if not _is_allowed(allowed, call["id"])]
        if not refused:
            return {}
        results = [result_of(call, REFUSED, is_done=False) for call in refused]
        rounds = [
            *state.get("tool_rounds", []),
            ToolRound(said=state["ai_response_raw"], calls=refused, results=results),
        ]
        ids = {call["id"] for call in refused}
        return {"tool_rounds": rounds, "calls": [call for call in state["calls"] if call["id"] not in ids]}

    async def use_tools(self, state: DialogueState) -> Update:
        """Carries out the calls that are left."""
        calls = state["calls"]
        if not calls:
            return {"calls": []}
        user = ToolUser(state["user_id"], state["session_id"])
        results = await asyncio.gather(*(self._tools.use(call, user) for call in calls))
        used = ToolRound(said=state["ai_response_raw"], calls=calls, results=list(results))
        return {"tool_rounds": [*state.get("tool_rounds", []), used], "calls": []}

    async def post_process(self, state: DialogueState) -> Update:
        """Cleans the model's answer and says what is wrong with it; the last bad one gives way to quotations."""
        if state["answered_by"] != AnsweredBy.LANGUAGE_MODEL.value:
            return self._said(state, state["ai_response_raw"].strip())
        reply = clean_reply(state["ai_response_raw"], speaking(state)["names"])
        problems = self._problems(state, reply)
        if problems and state.get("reflections", 0) < self._max_reflections:
            return {"ai_response": reply, "problems": problems}
        if problems:
            quoted = await self._quote(state)
            return {**quoted, **self._said(state, quoted["ai_response_raw"]), "problems": []}
        return {**self._said(state, reply), "problems": []}

    async def reflect(self, state: DialogueState) -> Update:
        """Counts the reply that was not good; what is wrong with it goes into the next prompt."""
        _log.info("reply_refused", component=LANGUAGE_MODEL, problems=len(state["problems"]))
        return {"reflections": state.get("reflections", 0) + 1}

    async def next_speaker(self, state: DialogueState) -> Update:
        """The next persona replies, and sees what those before it said."""
        speaker, *others = state["to_speak"]
        return {"persona_id": speaker, "to_speak": others, "reflections": 0, "problems": [], "tool_rounds": []}

    async def ask_back(self, state: DialogueState) -> Update:
        """Asks which of several things is meant."""
        clarification = context_of(state).understood.resolution.clarification
        assert clarification is not None  # noqa: S101 - the route is CLARIFY
        return self._said(state, clarification.question) | {"answered_by": AnsweredBy.EXTRACTIVE.value}

    async def confirm_forgetting(self, state: DialogueState) -> Update:
        """Says what becomes of a request to forget; `store_memory` carries it out, unless nothing is learned."""
        context = context_of(state)
        reply = context.forget_reply or ""
        if not state.get("learns", True):
            reply = phrases_for(context.understood.written(context.message)).forget_unlearned
        return self._said(state, reply) | {"answered_by": AnsweredBy.EXTRACTIVE.value}

    def branch(self, reply: Callable[[DialogueState], Awaitable[str]]) -> Callable[[DialogueState], Awaitable[Update]]:
        """The node of an application's own branch."""

        async def run(state: DialogueState) -> Update:
            return self._said(state, await reply(state)) | {"answered_by": AnsweredBy.EXTRACTIVE.value}

        return run

    async def store_memory(self, state: DialogueState) -> Update:
        """Stores the turn, and appends it to the history unless it asked to forget something."""
        replies = state["replies"]
        text = _joined(replies)
        stored = StoredTurn(turn_id="", memory_id="", reply_id="", forgot=False)
        if state.get("learns", True):
            acknowledged = await self._memory.store_conversation_turn(_turn(state, text))
            forgot = acknowledged.forgotten is not None
            stored = StoredTurn(
                turn_id="" if forgot else acknowledged.turn_id,
                memory_id="" if forgot else acknowledged.memory_id,
                reply_id=acknowledged.reply_id,
                forgot=forgot,
            )
        said: list[DialogueMessage] = [] if stored["forgot"] else _messages(state, replies)
        return {
            "messages": [*state.get("messages", []), *said],
            "ai_response": text,
            "stored": stored,
            "retrieved": {},
            "relevant_memories": [],
            "prompt_inputs": {},
            **_carried_out(state),
        }

    async def consolidate_memories(self, state: DialogueState) -> Update:
        """Starts the consolidation of the user's memories."""
        return {"consolidated": await self._memory.consolidate_memories(user_id=state["user_id"])}

    async def _quote(self, state: DialogueState) -> Update:
        persona = speaking(state)
        assistant = Assistant(name=persona["name"], facts=tuple(persona["lines"]))
        answer = await self._answerer.answer(context_of(state).asked.model_copy(update={"assistant": assistant}))
        return {
            "ai_response_raw": answer.text,
            "calls": [],
            "answered_by": answer.answered_by.value,
            "sources": _as_json(answer.sources),
        }

    def _problems(self, state: DialogueState, reply: str) -> list[str]:
        said = _last_reply(state)
        sources: list[str] | None = None
        if state["route"] == Route.RECALL.value:
            sources = [
                state["user_input"],
                *state.get("relevant_memories", []),
                *state.get("persona_info", []),
                *(name for persona in state["personas"] for name in persona["names"]),
                *(message["content"] for message in state.get("conversation_history", [])),
                *injected_texts(state),
            ]
        return problems_of(
            reply,
            language=Language(state["language"]),
            message=state["user_input"],
            last_reply=said["content"] if said else "",
            sources=sources,
        )

    def _said(self, state: DialogueState, text: str) -> Update:
        persona = speaking(state)
        said = SaidReply(persona_id=state["persona_id"], name=persona["name"] or state["persona_id"], text=text)
        return {"ai_response": text, "replies": [*state.get("replies", []), said]}


def context_of(state: DialogueState) -> RetrievedContext:
    """What was retrieved in this turn."""
    return RetrievedContext.model_validate(state["retrieved"])


def speaking(state: DialogueState) -> RecalledPersona:
    """The persona that speaks; an empty one where it could not be recalled."""
    known = (persona for persona in state.get("personas", []) if persona["persona_id"] == state["persona_id"])
    nobody = RecalledPersona(persona_id=state["persona_id"], name="", names=[], style="", state={}, lines=[])
    return next(known, nobody)


def choose_speakers(state: DialogueState, personas: Sequence[RecalledPersona]) -> list[str]:
    """Who replies: the personas that the message names, in its order; else who spoke last; else the first."""
    ids = state["persona_ids"]
    text = ComparableText(state["user_input"])
    places = {
        persona["persona_id"]: min((start for name in persona["names"] for start, _ in text.find(name)), default=-1)
        for persona in personas
    }
    named = sorted((id_ for id_, place in places.items() if place >= 0), key=lambda id_: places[id_])
    if named:
        return named
    said = _last_reply(state)
    last = said.get("persona", "") if said else ""
    return [last if last in ids else ids[0]]


def route_of(context: RetrievedContext) -> Route:
    """What becomes of a message, by its intents and by what memory holds (003 §5)."""
    if context.forget_reply is not None:
        return Route.FORGET
    asked = context.asked
    if not asks_memory(asked):
        return Route.CHAT
    if context.understood.resolution.clarification is not None and not context.memories:
        return Route.CLARIFY
    if context.memories:
        return Route.RECALL
    return Route.UNKNOWN if Intent.QUESTION in context.understood.extraction.intents else Route.CHAT


def injected_texts(state: DialogueState) -> list[str]:
    """The texts of others that the prompts of this turn held."""
    results = [result["text"] for tools in state.get("tool_rounds", []) for result in tools["results"]]
    return [*state.get("relevant_memories", []), *results]


def _as_json(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    return [hit.model_dump(mode="json") for hit in hits]


def _joined(replies: Sequence[SaidReply]) -> str:
    """One reply as it is, several each after the name of who said it."""
    if len(replies) == 1:
        return replies[0]["text"]
    return "\n".join(f"{said['name']}: {said['text']}" for said in replies)


def _last_reply(state: DialogueState) -> DialogueMessage | None:
    return next((said for said in reversed(state.get("messages", [])) if said["role"] == "assistant"), None)


def _turn(state: DialogueState, text: str) -> ConversationTurn:
    return ConversationTurn(
        user_id=state["user_id"],
        session_id=state["session_id"],
        turn_id=state["turn_id"],
        context=context_of(state),
        replies=tuple((said["persona_id"], said["text"]) for said in state["replies"]),
        text=text,
        answered_by=AnsweredBy(state["answered_by"]),
        injected=tuple(injected_texts(state)),
    )


def _messages(state: DialogueState, replies: Sequence[SaidReply]) -> list[DialogueMessage]:
    said = [DialogueMessage(role="assistant", content=reply["text"], persona=reply["persona_id"]) for reply in replies]
    return [DialogueMessage(role="user", content=state["user_input"]), *said]


def _task_update(state: DialogueState) -> Update:
    """A request is the current task until another one, or until the user confirms or thanks."""
    task, history = state.get("current_task", ""), state.get("tasks_history", [])
    new = context_of(state).understood.resolution.resolved_query if Intent.REQUEST in state["intents"] else ""
    closes = not _CLOSES_TASK.isdisjoint(state["intents"])
    if not task or task == new or not (new or closes):
        return {"current_task": new or task, "tasks_history": history}
    over = Task(task=task, turn_id=state["turn_id"], outcome="replaced" if new else "answered")
    return {"current_task": new, "tasks_history": [*history, over]}


def _carried_out(state: DialogueState) -> Update:
    """A task for which a tool did something is over."""
    task = state.get("current_task", "")
    if not task or not any(result["is_done"] for tools in state.get("tool_rounds", []) for result in tools["results"]):
        return {}
    done = Task(task=task, turn_id=state["turn_id"], outcome="carried_out")
    return {"current_task": "", "tasks_history": [*state.get("tasks_history", []), done]}


def _is_allowed(allowed: object, call_id: str) -> bool:
    """Whether an answer of a person allows a call: true for all, or an object that says so by id."""
    return allowed.get(call_id) is True if isinstance(allowed, Mapping) else allowed is True
