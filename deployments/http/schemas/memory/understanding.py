"""What the trained reader understood of a message, as replies show it (DESIGN §3)."""

from collections.abc import Sequence
from typing import Self

from pydantic import Field, JsonValue

from memory.chat.messages import Understood
from memory.values.governance.forgetting import ForgetOutcome, ForgetReport, Forgettable
from memory.values.understanding.readings import Action, Intent, Qualifier, StatedFact
from memory.values.understanding.resolutions import CoreferenceResult

from ..fields import RequestModel, examples

_MOVED: dict[str, JsonValue] = {
    "subject": "咖啡機",
    "predicate": "stored_in",
    "object": "三樓",
    "qualifiers": ["planned"],
    "time": "下週",
    "confidence": 0.93,
}
"""Of 「咖啡機下週要搬到三樓」."""

INTENTS = Field(
    description="What the message is for, most probable first; empty while the reader is away.",
    examples=[["statement"], ["correction", "remember"]],
)
FACTS = Field(description="What the message states, in text order.", examples=[[_MOVED]])
ACTION = Field(
    description="What became of the message: `rewrite` where `resolved_query` differs from it, `ask` where "
    "`clarification` holds a question, else `keep`.",
    examples=["rewrite"],
)


FORGOTTEN = Field(
    default=None,
    description="For a request to forget: what became of it, or in `/chat/before` what would; else null.",
)


class ForgetReply(RequestModel):
    """What became of a request to forget.

    `things` are what is gone, or with `which` what the user has to choose from, without their values: of facts subject
    (null for the user) and predicate, of what is forgotten altogether its name, of a message when it was said. `kept`
    is what stays of messages of which only a part is gone, word for word.
    """

    outcome: ForgetOutcome
    things: tuple[Forgettable, ...] = ()
    facts: int = 0
    memories: int = 0
    entities: int = 0
    kept: tuple[str, ...] = ()

    @classmethod
    def of(cls, report: ForgetReport | None) -> Self | None:
        """The reply for a report, without ids of turns."""
        return None if report is None else cls(**{name: getattr(report, name) for name in cls.model_fields})


class FactReply(RequestModel):
    """A fact that a message states, in its own words.

    `subject` is null for the speaker; `predicate` is one of a fixed list (`lives_in`, `likes`, `stored_in`, …) or
    `other`; `qualifiers` say how it holds; `time` is as it was said.
    """

    model_config = examples(_MOVED)

    subject: str | None
    predicate: str
    object: str
    qualifiers: tuple[Qualifier, ...] = ()
    time: str | None = None
    confidence: float

    @classmethod
    def of(cls, facts: Sequence[StatedFact]) -> tuple[Self, ...]:
        """The facts of a reading, in order."""
        return tuple(
            cls(
                subject=fact.subject.text if fact.subject else None,
                predicate=fact.predicate,
                object=fact.object.text,
                qualifiers=fact.qualifiers,
                time=fact.time.text if fact.time else None,
                confidence=fact.confidence,
            )
            for fact in facts
        )


def action_of(resolution: CoreferenceResult) -> Action:
    """What became of a message."""
    if resolution.clarification is not None:
        return Action.ASK
    return Action.KEEP if resolution.resolved_query == resolution.original_query else Action.REWRITE


class ResolveReply(CoreferenceResult):
    """The query with its references resolved (000 §4.4), and what else was understood of it."""

    action: Action = ACTION
    intents: tuple[Intent, ...] = INTENTS
    facts: tuple[FactReply, ...] = FACTS

    @classmethod
    def of(cls, understood: Understood) -> Self:
        """The reply for a message that was read."""
        resolution = understood.resolution
        return cls(
            **{name: getattr(resolution, name) for name in CoreferenceResult.model_fields},
            action=action_of(resolution),
            intents=understood.extraction.intents,
            facts=FactReply.of(understood.extraction.facts),
        )
