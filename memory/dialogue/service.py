"""`AIService`: the interface of before the graph, which keeps history and character state (003 §1, §4)."""

from collections.abc import Mapping, Sequence

from ..values.base import Scalar
from ..values.personas import DEFAULT_PERSONA
from .graph import DialogueGraph, DialogueResult
from .state import CharacterState, DialogueMessage, Task


class AIService:
    """One conversation of one user.

    Args:
        graph: Runs the turns.
        user_id: The user.
        session_id: The conversation.
        persona_ids: Who takes part in it.

    Attributes:
        messages: The history.
        character_state: Kept here, and handed to each turn.
        current_task: What the user waits for.
        tasks_history: What they asked for before.
        waiting: The turn that waits for approval; None where none does.
    """

    def __init__(
        self,
        graph: DialogueGraph,
        *,
        user_id: str,
        session_id: str = "default",
        persona_ids: Sequence[str] = (DEFAULT_PERSONA,),
    ) -> None:
        self._graph = graph
        self._user_id = user_id
        self._session_id = session_id
        self._persona_ids = tuple(persona_ids)
        self.messages: list[DialogueMessage] = []
        self.character_state: CharacterState = {}
        self.current_task = ""
        self.tasks_history: list[Task] = []
        self.waiting: DialogueResult | None = None

    async def generate_response(self, user_text: str, *, turn_id: str | None = None) -> str:
        """The reply; empty where the turn waits for a person, see `waiting` and `resume`."""
        result = await self._graph.generate_response(
            user_text,
            user_id=self._user_id,
            session_id=self._session_id,
            messages=self.messages,
            character_state=self.character_state,
            persona_ids=self._persona_ids,
            current_task=self.current_task,
            tasks_history=self.tasks_history,
            turn_id=turn_id,
        )
        return self._take(result)

    async def resume(self, approved: bool | Mapping[str, bool]) -> str:
        """Goes on with the turn that waits; the reply.

        Raises:
            NotFound: None waits.
        """
        result = await self._graph.resume(
            user_id=self._user_id,
            session_id=self._session_id,
            turn_id=self.waiting.turn_id if self.waiting else "",
            approved=approved,
        )
        return self._take(result)

    def update_character_state(self, **changes: Scalar) -> CharacterState:
        """Changes the character state; a value of None removes its entry."""
        self.character_state = self._graph.update_character_state(self.character_state, changes)
        return self.character_state

    async def reset(self) -> None:
        """Begins anew: no history, no character state, no task, no unfinished turn. What is remembered stays."""
        await self._graph.reset(user_id=self._user_id, session_id=self._session_id)
        self.messages, self.character_state, self.tasks_history = [], {}, []
        self.current_task, self.waiting = "", None

    def _take(self, result: DialogueResult) -> str:
        self.waiting = result if result.waits_for else None
        if self.waiting is None:
            self.messages = list(result.updated_messages)
            self.current_task, self.tasks_history = result.current_task, list(result.tasks_history)
        return result.ai_response
