"""Bodies of mem0's calls. Fields that are not listed are ignored, as its own service ignores them."""

from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, TypeAdapter

from ...schemas.fields import Identifier, SessionName, Text
from ...schemas.memory.chat import DEFAULT_SESSION
from .filters import ENTITY_FIELDS, AllOf, Condition, Filter, as_time, read_filter

MAX_BATCH = 1_000
_MAX_MESSAGES = 256
_DATE: TypeAdapter[date] = TypeAdapter(date)


def _text_of(content: Any) -> Any:
    """The text of a message whose content is a list of parts; other content as it is."""
    if not isinstance(content, list):
        return content
    texts = []
    for part in content:
        if not isinstance(part, dict) or part.get("type") != "text":
            raise ValueError("only parts of type text can be kept")
        texts.append(part.get("text"))
    return "\n".join(map(str, texts))


def _as_messages(given: Any) -> Any:
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return [given] if isinstance(given, dict) else given


def _as_date(given: Any) -> Any:
    return None if given is None else _DATE.validate_python(given, strict=False).isoformat()


def _as_said(given: Any) -> datetime | None:
    return None if given is None else as_time(given, "timestamp")


ExpirationDate = Annotated[str | None, BeforeValidator(_as_date)]
Metadata = dict[str, JsonValue]
SaidAt = Annotated[Any, AfterValidator(_as_said)]


class Body(BaseModel):
    """Base of the bodies."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class MessageIn(Body):
    """A message; those of the system are not kept."""

    role: Literal["user", "assistant", "system"] = "user"
    content: Annotated[Text, BeforeValidator(_text_of)]
    name: Identifier | None = None


class Ids(Body):
    """Whose memory it is, and who else it is of."""

    user_id: Identifier | None = None
    agent_id: Identifier | None = None
    app_id: Identifier | None = None
    run_id: SessionName | None = None

    @property
    def session_id(self) -> str:
        """The session that `run_id` names."""
        return self.run_id or DEFAULT_SESSION


class AddBody(Ids):
    """What to keep. The ids may also stand in `filters`."""

    messages: Annotated[
        tuple[MessageIn, ...], BeforeValidator(_as_messages), Field(min_length=1, max_length=_MAX_MESSAGES)
    ]
    filters: Ids = Ids()
    metadata: Metadata | None = None
    infer: bool | None = None
    timestamp: SaidAt = None
    expiration_date: ExpirationDate = None

    @property
    def ids(self) -> "Ids":
        """The ids of the body, before those that stand in `filters`."""
        given = self.model_dump(include={*ENTITY_FIELDS}, exclude_none=True)
        return self.filters.model_copy(update=given)


class FilterBody(Body):
    """Which memories are meant; conditions of all fields have to hold."""

    filters: dict[str, JsonValue] = {}
    user_id: str | None = None
    agent_id: str | None = None
    app_id: str | None = None
    run_id: str | None = None
    metadata: Metadata | None = None
    categories: tuple[str, ...] | None = None
    keywords: str | None = None
    start_date: str | None = None
    end_date: str | None = None
    fields: tuple[str, ...] | None = None
    show_expired: bool | None = None

    def filter(self) -> Filter:
        """All conditions as one filter.

        Raises:
            InvalidField: One is no condition.
        """
        parts = [read_filter(self.filters)]
        parts += [read_filter({name: value}) for name in ENTITY_FIELDS if (value := getattr(self, name)) is not None]
        if self.metadata:
            parts.append(read_filter({"metadata": self.metadata}))
        if self.keywords:
            parts.append(Condition("memory", "icontains", self.keywords))
        if self.categories:
            parts.append(Condition("categories", "in", self.categories))
        for name, operator in (("start_date", "gte"), ("end_date", "lte")):
            if (value := getattr(self, name)) is not None:
                parts.append(Condition("created_at", operator, as_time(value, name, end_of_day=operator == "lte")))
        return AllOf(tuple(parts))


class PageBody(FilterBody):
    """A page of the memories that are meant."""

    page: Annotated[int, Field(ge=1)] = 1
    page_size: Annotated[int, Field(ge=1, le=200)] = 100


class SearchBody(FilterBody):
    """A search among the memories that are meant."""

    query: Text
    top_k: Annotated[int, Field(ge=1, le=1000)] | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] | None = None
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.0
    reference_date: Any = None

    @property
    def wanted(self) -> int:
        """Number of results."""
        return self.top_k or self.limit or 10

    def asked_at(self, now: datetime) -> datetime:
        """The time from which the query is asked.

        Raises:
            InvalidField: `reference_date` is no time.
        """
        return now if self.reference_date is None else as_time(self.reference_date, "reference_date").astimezone(UTC)


class UpdateBody(Body):
    """What a memory says from now on; what is left out stays."""

    text: Text | None = None
    data: Text | None = None
    metadata: Metadata | None = None
    timestamp: SaidAt = None
    expiration_date: ExpirationDate = None


class BatchUpdate(UpdateBody):
    """An update of one memory among others."""

    memory_id: str


class BatchUpdateBody(Body):
    """Several updates."""

    memories: Annotated[tuple[BatchUpdate, ...], Field(min_length=1, max_length=MAX_BATCH)]


class BatchDelete(Body):
    """A memory to delete among others."""

    memory_id: str


class BatchDeleteBody(Body):
    """Several memories to delete."""

    memories: Annotated[tuple[BatchDelete, ...], Field(min_length=1, max_length=MAX_BATCH)]


class FeedbackBody(Body):
    """What somebody thinks of a memory; null takes it back."""

    memory_id: str
    feedback: Literal["POSITIVE", "NEGATIVE", "VERY_NEGATIVE"] | None = None
    feedback_reason: Annotated[str, Field(max_length=1_024)] | None = None


class ExportBody(FilterBody):
    """Which memories to export; by the time of the call, or those of an export that was asked for."""

    memory_export_id: str | None = None
