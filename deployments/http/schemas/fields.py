"""Field types of requests: what a text, an id and a metadata object may be."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictInt, StringConstraints

MAX_TEXT_CHARACTERS = 32_768
MAX_METADATA_ENTRIES = 32
MAX_METADATA_CHARACTERS = 1_024
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def _no_control_characters(text: str) -> str:
    if match := _CONTROL.search(text):
        raise ValueError(
            f"character U+{ord(match.group()):04X} at position {match.start()} is not allowed; "
            "of the control characters only tab, line feed and carriage return are"
        )
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must hold something besides white space")
    return text


Text = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_TEXT_CHARACTERS),
    AfterValidator(_no_control_characters),
    AfterValidator(_not_blank),
]
"""What people say: 1 to 32,768 characters, not blank, no control characters but white space."""

Identifier = Annotated[
    str,
    StringConstraints(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]*$"),
    AfterValidator(_not_blank),
]
"""An id that the caller chose: 1 to 128 characters, no control characters."""

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
"""Up to 32 entries; values are texts, numbers, booleans or null, so that a filter can compare them."""


class RequestModel(BaseModel):
    """A request body: unknown fields are refused by name."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def example(value: dict[str, Any]) -> ConfigDict:
    """A model configuration with the example that the OpenAPI page shows; a test sends each of them."""
    return ConfigDict(frozen=True, extra="forbid", json_schema_extra={"examples": [value]})
