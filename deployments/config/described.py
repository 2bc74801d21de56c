"""The settings described: each with its variable, default, value and bounds, and what is wrong with a bad value."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, SecretStr, ValidationError

from .secrets import secrets_folder, variable_of
from .settings import AppArgs

_MASK = "********"
_BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<", "pattern": "matches"}


@dataclass(frozen=True)
class Setting:
    """One setting.

    Attributes:
        name: As in `args:` of serve_config.yaml, with dots between levels.
        variable: The environment variable.
        default: What holds where it is not given; empty where the description says what holds then.
        value: What holds now, a secret masked.
        source: Where the value comes from: `args`, `environment`, `file` or `default`.
        allowed: Type and bounds, or the values.
        description: What it means, and its unit.
    """

    name: str
    variable: str
    default: str
    value: str
    source: str
    allowed: str
    description: str


def describe_settings(args: AppArgs, *, given: Mapping[str, Any] | None = None) -> list[Setting]:
    """All settings in order, section by section.

    Args:
        args: The settings as they hold.
        given: What was given as arguments, not by the environment.
    """
    return list(_describe(args, "", given or {}))


def sections() -> dict[str, type[BaseModel]]:
    """The model of each section by its name, those inside others too; the empty name has the settings of no section."""
    return dict(_sections(AppArgs, ""))


def _sections(model: type[BaseModel], name: str) -> Iterator[tuple[str, type[BaseModel]]]:
    yield name, model
    for inner, field in model.model_fields.items():
        if isinstance(field.default, BaseModel):
            yield from _sections(type(field.default), f"{name}.{inner}".removeprefix("."))


def explain(error: ValidationError) -> str:
    """One line for each invalid setting: its name, the problem, and the allowed values."""
    lines, hidden = [], _hidden()
    for problem in error.errors():
        name = ".".join(map(str, problem["loc"]))
        if problem["type"] == "value_error":  # our own checks name the setting themselves
            lines.append(problem["msg"].removeprefix("Value error, "))
        elif problem["type"] == "extra_forbidden":
            section = sections().get(".".join(map(str, problem["loc"][:-1])))
            known = ", ".join(section.model_fields) if section else "none"
            lines.append(f"{name} ({variable_of(name)}): there is no such setting; allowed: {known}")
        else:
            given = "" if name in hidden else f"; given: {problem['input']!r}"
            lines.append(f"{name} ({variable_of(name)}): {problem['msg']}{given}")
    return "\n".join(lines)


def _hidden() -> set[str]:
    """Secrets, and the sections, which may hold some."""
    models = sections()
    return models.keys() | {
        f"{section}.{name}".removeprefix(".")
        for section, model in models.items()
        for name, field in model.model_fields.items()
        if "SecretStr" in str(field.annotation)
    }


def _describe(model: BaseModel, prefix: str, given: Mapping[str, Any]) -> Iterator[Setting]:
    properties = type(model).model_json_schema()["properties"]
    for name, value in _fields(model):
        full_name, here = f"{prefix}{name}", given.get(name)
        if isinstance(value, BaseModel):
            yield from _describe(value, f"{full_name}.", here if isinstance(here, Mapping) else {})
            continue
        field = type(model).model_fields[name]
        yield Setting(
            name=full_name,
            variable=variable_of(full_name),
            default=_text(field.default),
            value=_text(value),
            source="args" if name in given else _source(full_name),
            allowed=_allowed(properties[name]),
            description=field.description or "",
        )


def _fields(model: BaseModel) -> Iterator[tuple[str, Any]]:
    """The fields of no section first."""
    values = [(name, getattr(model, name)) for name in type(model).model_fields]
    return iter(sorted(values, key=lambda item: isinstance(item[1], BaseModel)))


def _source(name: str) -> str:
    """Which of variables and files gives the setting, or the JSON of a section that it is in."""
    parts = name.split(".")
    variables = {variable_of(".".join(parts[: depth + 1])) for depth in range(len(parts))}
    folder = secrets_folder()
    if variables & {variable.upper() for variable, value in os.environ.items() if value}:
        return "environment"
    return "file" if folder and variables & {file.name.upper() for file in folder.iterdir()} else "default"


def _allowed(schema: Mapping[str, Any]) -> str:
    """Type and bounds of a JSON schema in words."""
    if "anyOf" in schema:
        return " or ".join(_allowed(option) for option in schema["anyOf"] if option.get("type") != "null")
    if "enum" in schema:
        return ", ".join(schema["enum"])
    if "const" in schema:
        return str(schema["const"])
    bounds = [f"{sign} {schema[key]}" for key, sign in _BOUNDS.items() if key in schema]
    kind = {"array": "list", "object": "map"}.get(schema["type"], schema["type"])
    return " ".join([schema.get("format", kind), ", ".join(bounds)]).strip()


def _text(value: Any) -> str:
    if isinstance(value, SecretStr):
        return _MASK if value.get_secret_value() else ""
    if value is None or value == () or value == {}:
        return ""
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
