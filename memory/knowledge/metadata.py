"""The schema that a corpus gives the metadata of its documents (004 §10)."""

from collections.abc import Mapping
from typing import Any

import jsonschema
import referencing

from ..values.base import Scalar
from ..values.errors import InvalidField, InvalidMetadata

_NO_OTHER_SCHEMAS: referencing.Registry[Any] = referencing.Registry()
"""Nothing is fetched: a schema may only refer to its own parts."""


def check_schema(schema: Mapping[str, Any]) -> None:
    """Refuses what is no JSON Schema (draft 2020-12), or refers to another document.

    Raises:
        InvalidField: See above.
    """
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise _invalid(error.message) from None
    for reference in _references(schema):
        if not reference.startswith("#"):
            raise _invalid(f"it refers to {reference!r}, outside of itself")


def check_metadata(metadata: Mapping[str, Scalar], schema: Mapping[str, Any] | None) -> None:
    """Refuses metadata that a corpus does not allow.

    Raises:
        InvalidMetadata: Names the first field that is wrong, in the order of their names.
    """
    if schema is None:
        return
    validator = jsonschema.Draft202012Validator(schema, registry=_NO_OTHER_SCHEMAS)
    try:
        errors = sorted(validator.iter_errors(dict(metadata)), key=lambda error: [str(part) for part in error.path])
    except referencing.exceptions.Unresolvable as error:
        raise InvalidMetadata(
            f"metadata: the schema of the corpus refers to {error.ref!r}, which it does not have",
            field="metadata",
            allowed="what the schema of the corpus allows",
        ) from None
    if errors:
        field = ".".join(["metadata", *(str(part) for part in errors[0].path)])
        message = f"{field}: {errors[0].message}"
        raise InvalidMetadata(message, field=field, allowed="what the schema of the corpus allows")


def _references(schema: Any) -> list[str]:
    match schema:
        case Mapping():
            own = [value for key, value in schema.items() if key in ("$ref", "$dynamicRef") and isinstance(value, str)]
            return own + [reference for value in schema.values() for reference in _references(value)]
        case list() | tuple():
            return [reference for value in schema for reference in _references(value)]
        case _:
            return []


def _invalid(reason: str) -> InvalidField:
    message = f"metadata_schema is no JSON Schema: {reason}"
    return InvalidField(message, field="config.metadata_schema", allowed="a JSON Schema (draft 2020-12)")
