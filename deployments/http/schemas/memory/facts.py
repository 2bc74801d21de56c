"""Parameters and replies of facts, their categories and their jobs (002 §8)."""

from typing import Self

from pydantic import Field, model_validator

from memory.facts.statements import Statement
from memory.ports.services import LearnReport
from memory.tiers.context import RankedCategory
from memory.values.base import Timestamp
from memory.values.facts import Fact
from memory.values.predicates import CategoryName
from memory.values.records import ResourceKind
from memory.values.understanding.readings import Qualifier

from ..fields import Flag, Identifier, Metadata, RequestModel, SessionName, Text, Time, examples, given
from ..users import ChosenUser, User
from .chat import DEFAULT_SESSION


class IngestBody(RequestModel):
    """A message for the append-only log (002 §8.1), from which facts are learned in the background."""

    model_config = examples({"user_id": "ada", "content": "我們上個月搬到三峽了。", "metadata": {"channel": "line"}})

    user_id: User
    session_id: SessionName = DEFAULT_SESSION
    content: Text
    source: ResourceKind = Field(
        default=ResourceKind.TURN, description="`turn`: the user said it; `note`: a text that is kept for the user."
    )
    turn_id: Identifier | None = Field(default=None, description="Your own id of the message; makes retries safe.")
    created_at: Time | None = Field(default=None, description="When it was said; default: now.")
    metadata: Metadata = {}
    wait: Flag = Field(default=False, description="Reply only when its facts are stored and can be found.")


class IngestReply(RequestModel):
    """The id of the entry; `learned` is null where the call did not wait, or where learning is postponed."""

    resource_id: str
    learned: LearnReport | None


class FactExtractBody(RequestModel):
    """A text, or an entry of the log by its `resource_id` (002 §8.2)."""

    model_config = examples(
        {"user_id": "ada", "text": "I used to like tea, but now I drink coffee."},
        rule={"oneOf": [given(text="string"), given(resource_id="string")]},
    )

    user_id: User
    text: Text | None = None
    resource_id: Identifier | None = None

    @model_validator(mode="after")
    def _one_source(self) -> "FactExtractBody":
        if (self.text is None) == (self.resource_id is None):
            raise ValueError("give text or resource_id: one of the two")
        return self


class StatementReply(RequestModel):
    """A fact as a text states it: `subject` is `user` for the speaker, times are resolved against its date."""

    subject: str
    predicate: str
    object: str
    category: CategoryName
    qualifiers: tuple[Qualifier, ...]
    time: str | None
    valid_from: Timestamp | None
    valid_to: Timestamp | None
    confidence: float

    @classmethod
    def of(cls, statement: Statement) -> Self:
        """The reply for a statement."""
        same = {name: getattr(statement, name) for name in cls.model_fields if name in Statement.model_fields}
        return cls(**same, valid_from=statement.start, valid_to=statement.end)


class FactExtractReply(RequestModel):
    """What a text states, in its order.

    `items` are the facts that a log entry stated first, as they are now: what was known before is not among them.
    """

    facts: tuple[StatementReply, ...]
    items: tuple[Fact, ...]
    degraded: tuple[str, ...]


class ItemList(RequestModel):
    """A page of facts, latest recorded first. `total` counts all pages; `next` is null on the last one."""

    results: tuple[Fact, ...]
    total: int
    next: str | None


class CategoryList(RequestModel):
    """The categories that hold facts or have a summary, highest priority first."""

    results: tuple[RankedCategory, ...]


class ContextReply(RequestModel):
    """What is known of the user, ready for a prompt.

    `categories` are those in it, highest priority first; `left_out` those that exceeded a limit. `tokens` is null where
    they were not limited.
    """

    context: str
    categories: tuple[str, ...]
    left_out: tuple[str, ...]
    tokens: int | None


class SummarizeBody(RequestModel):
    """The user whose categories to summarise (002 §8.2)."""

    model_config = examples({"user_id": "ada"})

    user_id: User


class JobBody(RequestModel):
    """The user whose facts the job is about; all users where none is given."""

    model_config = examples({"user_id": "ada"})

    user_id: ChosenUser | None = None


EVERYBODY = JobBody()
