"""Arguments of the tools, with the names that mem0's MCP server gives them."""

from datetime import timedelta
from typing import Annotated, Any, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator

_MOMENT = timedelta(microseconds=1)
UserArg = Annotated[
    str | None,
    Field(
        description="Whose memory. Only with a key of an app or an administrator; leave it out otherwise, the "
        "credential says it."
    ),
]
RunArg = Annotated[str | None, Field(description="The conversation (session) that it belongs to.")]
AgentArg = Annotated[str | None, Field(description="The agent that it belongs to.")]
AppArg = Annotated[str | None, Field(description="The application that it belongs to.")]
MemoryArg = Annotated[str, Field(description="The id of a memory, as search_memories and get_memories give it.")]
MetadataArg = Annotated[
    dict[str, str | bool | int | float | None] | None, Field(description="Up to 32 simple values, by which to filter.")
]


class Message(BaseModel):
    """A message of a conversation."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["user", "assistant"] = "user"
    content: str


class Period(BaseModel):
    """Times with a time zone."""

    model_config = ConfigDict(extra="forbid")

    gte: AwareDatetime | None = Field(default=None, description="From this time on.")
    lte: AwareDatetime | None = Field(default=None, description="Until this time.")


class Filters(BaseModel):
    """Conditions that must all hold. mem0's `{"AND": [{…}, {…}]}` is accepted, too."""

    model_config = ConfigDict(extra="forbid")

    user_id: UserArg = None
    run_id: RunArg = None
    agent_id: AgentArg = None
    app_id: AppArg = None
    created_at: Period | None = None
    metadata: MetadataArg = None

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if {"OR", "NOT"} & value.keys():
            raise ValueError("OR and NOT are not supported: make one call for each alternative")
        conditions = [{name: of for name, of in value.items() if name != "AND"}, *value.get("AND", [])]
        merged: dict[str, Any] = {}
        for name, of in (pair for condition in conditions for pair in condition.items()):
            merged[name] = {**merged[name], **of} if isinstance(of, dict) and name in merged else of
        return merged

    def of(self, user_id: str | None) -> Self:
        """The same filters, with the user that the argument `user_id` names where it names one."""
        return self if user_id is None else self.model_copy(update={"user_id": user_id})

    @property
    def since(self) -> str | None:
        """The first moment."""
        return self.created_at.gte.isoformat() if self.created_at and self.created_at.gte else None

    @property
    def last(self) -> str | None:
        """The last moment."""
        return self.created_at.lte.isoformat() if self.created_at and self.created_at.lte else None

    @property
    def until(self) -> str | None:
        """The moment after the last one."""
        return (self.created_at.lte + _MOMENT).isoformat() if self.created_at and self.created_at.lte else None

    @property
    def entries(self) -> dict[str, Any]:
        """The metadata that a memory must have."""
        return tagged(self.metadata, agent_id=self.agent_id, app_id=self.app_id)

    def match(self, memory: dict[str, Any]) -> bool:
        """Whether a memory, as the service shows it, meets all conditions but the time."""
        if self.run_id not in (None, memory["session_id"]):
            return False
        return all(memory["metadata"].get(name) == value for name, value in self.entries.items())


NO_FILTERS = Filters()


def tagged(metadata: dict[str, Any] | None, **tags: str | None) -> dict[str, Any]:
    """Metadata with the agent and the application, which are metadata here."""
    return {**(metadata or {}), **{name: value for name, value in tags.items() if value is not None}}
