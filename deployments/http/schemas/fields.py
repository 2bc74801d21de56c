"""Field types of requests: texts, ids, metadata."""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, StrictBool, StrictInt, StringConstraints

MAX_TEXT_CHARACTERS = 32_768
MAX_METADATA_ENTRIES = 32
MAX_METADATA_CHARACTERS = 1_024
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def _no_control_characters(text: str) -> str:
    if match := _CONTROL.search(text):
        raise ValueError(
            f"character U+{ord(match.group()):04X} at position {match.start()} is not allowed; "
            "the only control characters allowed are tab, line feed and carriage return"
        )
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


Text = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_TEXT_CHARACTERS),
    AfterValidator(_no_control_characters),
    AfterValidator(_not_blank),
]
"""Text: 1 to 32,768 characters, not blank, without control characters other than white space."""

Identifier = Annotated[
    str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]*$"), AfterValidator(_not_blank)
]
"""An id chosen by the caller: 1 to 128 characters, not blank, without control characters."""

Flag = StrictBool
Count = StrictInt

MetadataValue = (
    Annotated[str, StringConstraints(max_length=MAX_METADATA_CHARACTERS), AfterValidator(_no_control_characters)]
    | StrictBool
    | StrictInt
    | Annotated[float, Field(allow_inf_nan=False)]
    | None
)
Metadata = Annotated[dict[Identifier, MetadataValue], Field(max_length=MAX_METADATA_ENTRIES)]
"""Up to 32 entries; values are strings, numbers, booleans or null, which filters can compare."""


class RequestModel(BaseModel):
    """Base of request bodies: an unknown field is an error that names it."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def examples(*bodies: dict[str, JsonValue]) -> ConfigDict:
    """A model configuration with examples for the OpenAPI page; a test sends each of them."""
    return ConfigDict(frozen=True, extra="forbid", json_schema_extra={"examples": [*bodies]})
