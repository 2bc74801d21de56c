"""What extraction finds in one text."""

from ..base import Value
from .mentions import Mention
from .readings import Intent, MessageKind, Rewrite, StatedFact

_ASKING = frozenset({Intent.QUESTION, Intent.GREETING, Intent.THANKS, Intent.CHITCHAT})
"""Intents of a message that asks something and tells nothing."""
_MAY_TELL = frozenset({MessageKind.MEMORY, MessageKind.REQUEST, None})
"""Kinds of messages that may tell something."""


class RememberIntent(Value):
    """The user asked to remember something: what was said to ask for it, and what is to be remembered.

    `content_start == content_end` where the user points back ("記住這個") and the content is the turn before.
    """

    trigger: str
    content: str
    content_start: int
    content_end: int


class Extraction(Value):
    """All that was found in one text; mentions are in text order and do not overlap.

    Attributes:
        intents: Those that hold, most probable first.
        kind: What it is for as a whole; None where nobody has read it.
        overview: Whether it asks for all that is known of someone or something.
        forgets_surely: Whether it need not be asked whether it asks to forget.
        may_change: Whether something said before may hold no longer after it.
        facts: Those that it states.
        rewrite: What it means in the conversation in which it was read; None where it was read alone.
        degraded: The parts without which it was made (DESIGN §7).
        version: Which code and weights made it (`Extractor.version`); empty where that is not known.
    """

    mentions: tuple[Mention, ...] = ()
    remember: tuple[RememberIntent, ...] = ()
    intents: tuple[Intent, ...] = ()
    kind: MessageKind | None = None
    overview: bool = False
    forgets_surely: bool = False
    may_change: bool = False
    facts: tuple[StatedFact, ...] = ()
    rewrite: Rewrite | None = None
    degraded: tuple[str, ...] = ()
    version: str = ""

    @property
    def was_read(self) -> bool:
        """Whether a reader has read the whole of it, so that what was not found is not there."""
        return bool(self.version) and not self.degraded

    @property
    def only_asks(self) -> bool:
        """Whether it asks something, or for an overview, and neither states anything nor asks to remember.

        So does small talk, a question about the world, the assistant or its opinion, and what was read and is for
        nothing that is known. A request may tell what somebody will ask for later: of 497 lines that answer in
        conversations four are requests without a fact.
        """
        asks = self.overview or (Intent.QUESTION in self.intents and _ASKING.issuperset(self.intents))
        return (
            (asks or self.kind not in _MAY_TELL or (self.was_read and not self.intents))
            and not self.facts
            and not self.remember
        )

    def is_by(self, version: str) -> bool:
        """Whether the whole of this version made it, so that it need not be made again; never for an unknown one."""
        return bool(version) and self.version == version and not self.degraded
