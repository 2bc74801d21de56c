"""Filters of OpenAI's searches as conditions that must all hold."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from memory.values.base import Scalar
from memory.values.errors import InvalidField

from ...schemas.fields import Identifier, MetadataValue

Values = Annotated[list[MetadataValue], Field(min_length=1, max_length=64)]


class Comparison(BaseModel):
    """A field of the metadata equals a value, or one of several."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["eq", "in"] = Field(description="Others compare what this search cannot.")
    key: Identifier
    value: MetadataValue | Values


class Compound(BaseModel):
    """All of several comparisons."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["and"]
    filters: Annotated[list[Comparison], Field(min_length=1, max_length=16)]


def conditions(filters: Comparison | Compound | None) -> dict[str, Scalar | list[Scalar]]:
    """The conditions on metadata by key.

    Raises:
        InvalidField: A key is compared twice.
    """
    found: dict[str, Scalar | list[Scalar]] = {}
    for comparison in _comparisons(filters):
        if comparison.key in found:
            raise InvalidField(
                f"filters: {comparison.key!r} is compared twice", field="filters", allowed="one comparison of a key"
            )
        found[comparison.key] = comparison.value
    return found


def _comparisons(filters: Comparison | Compound | None) -> Iterator[Comparison]:
    if isinstance(filters, Compound):
        yield from filters.filters
    elif filters is not None:
        yield filters
