"""What answers under the name of a model, for the doors that speak another service's protocol."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from memory.values.base import Timestamp, utc_now

Message = dict[str, Any]
"""A message as OpenAI's chat completions have it: `role`, `content` (a text or parts), and what else it may carry."""
Chunk = dict[str, Any]
"""A piece of a reply: `choices` as in a `chat.completion.chunk`; or `usage`; and `jiyi`, what memory did for it.

The door adds id, object and time. A chunk may name the `model` that answers.
"""


@dataclass(frozen=True)
class Conversation:
    """A conversation that is to be continued.

    Args:
        messages: Oldest first.
        options: What else the request asks for, as chat completions name it: tools, temperature, …
        user_id: The stored id of the person; None where nobody is named, of whom nothing is known or learned.
        session_id: The session of the person that it belongs to.
        turn_id: The same for each repetition of the request, another where the same is said again.
        learns: Whether the last message of the person is to be learned.
        now: When it was sent.
    """

    messages: tuple[Message, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    user_id: str | None = None
    session_id: str = "default"
    turn_id: str | None = None
    learns: bool = True
    now: Timestamp = field(default_factory=utc_now)


@dataclass(frozen=True)
class PromptBounds:
    """How long the prompt of a conversation may be, and what it says of memory, in tokens as they are estimated."""

    memory_tokens: int = 1_000
    max_tokens: int = 128_000


class Assistant(ABC):
    """Answers conversations. Where it learns, it does so once for a `turn_id`, before its last chunk."""

    @abstractmethod
    def reply(self, conversation: Conversation) -> AsyncIterator[Chunk]:
        """The reply, piece by piece; the last choice has a `finish_reason`.

        Raises:
            BadRequest: The conversation cannot be continued as asked.
            Unavailable: Nothing answers, or what was said could not be kept.
        """
