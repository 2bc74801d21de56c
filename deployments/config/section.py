"""The base of all sections of the settings."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Frozen; a name that is no setting is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")
