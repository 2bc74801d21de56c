"""MkDocs hook: writes the reference of endpoints, settings and commands from the code, where a page has its marker."""

import inspect
import json
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from itertools import groupby
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import typer.main

from deployments.config.described import describe_settings, sections
from deployments.config.settings import AppArgs
from deployments.http.app import build_http
from deployments.http.support.problems import STATUS
from jiyi.cli import app as command_line

_DEPTH = 4
_NDJSON = "application/x-ndjson"
"""How deep an example of a reply goes."""

_EXAMPLES: Mapping[str, Any] = {
    "alias": "AI Box",
    "answered_by": "extractive",
    "confidence": 0.81,
    "end": 1,
    "entity": "AI-Box",
    "entity_value": "AI-Box",
    "name": "AI-Box",
    "normalised_value": "ai-box",
    "memory": "我們公司上個月買了 AI-Box，放在三樓機房。",
    "original_query": "它放在哪裡？",
    "original_text": "它",
    "question": "「它」是指 AI-Box 還是印表機？",
    "query": "它放在哪裡？",
    "reason": "上一輪提到的產品",
    "reply": "您說過（2026-11-23）：「我們公司上個月買了 AI-Box，放在三樓機房。」",
    "resolved_query": "AI-Box 放在哪裡？",
    "resolved_text": "AI-Box",
    "session_id": "s1",
    "start": 0,
    "text": "我們公司上個月買了 AI-Box，放在三樓機房。",
    "user_id": "ada",
}
"""Values of fields in examples of replies, by name."""
_ID = "5eccceae-ddef-5508-8976-a47465872474"

Schema = Mapping[str, Any]


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replaces the markers of a page by what they stand for."""
    for marker, render in _MARKERS.items():
        if marker in markdown:
            markdown = markdown.replace(marker, render())
    return markdown


def http_reference() -> str:
    """Every endpoint by tag, with its parameters, a call and an example of the reply."""
    # FastAPI asks for the services only when the app starts.
    document = build_http(nullcontext).openapi()  # type: ignore[arg-type]
    sections: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tag = (operation.get("tags") or ["other"])[0]
            sections.setdefault(tag, []).append(_endpoint(method.upper(), path, operation, document))
    return "\n".join(f"## {tag.capitalize()}\n\n" + "\n".join(parts) for tag, parts in sections.items())


def status_reference() -> str:
    """The status codes of errors, from the table that maps them."""
    meanings: dict[int, list[str]] = {}
    for error, status in STATUS.items():
        meanings.setdefault(status, []).append((error.__doc__ or "").strip().split("\n")[0])
    rows = [f"| {status} | {_cell(' '.join(dict.fromkeys(texts)))} |" for status, texts in sorted(meanings.items())]
    return "\n".join(["| status | when |", "|---|---|", *rows])


def settings_reference() -> str:
    """Every setting with its variable, default, bounds and description."""
    lines: list[str] = []
    models = sections()
    for section, settings in groupby(describe_settings(AppArgs()), lambda setting: setting.name.rpartition(".")[0]):
        title = f"`{section}`" if section else "Top level"
        lines += [f"## {title}", "", inspect.cleandoc(models[section].__doc__ or ""), ""]
        lines += ["| variable | default | allowed | |", "|---|---|---|---|"]
        for setting in settings:
            cells = (f"`{setting.variable}`", _code(setting.default or None), setting.allowed, setting.description)
            lines.append(f"| {' | '.join(map(_cell, cells))} |")
        lines.append("")
    return "\n".join(lines)


def command_reference() -> str:
    """Every command with its options."""
    return "\n".join(_command(typer.main.get_command(command_line), "jiyi"))


_MARKERS: Mapping[str, Callable[[], str]] = {
    "<!-- status codes -->": status_reference,
    "<!-- http reference -->": http_reference,
    "<!-- settings reference -->": settings_reference,
    "<!-- command reference -->": command_reference,
}


def _endpoint(method: str, path: str, operation: Schema, document: Schema) -> str:
    lines = [f"### {method} {path}", "", operation.get("description") or operation.get("summary", ""), ""]
    if parameters := operation.get("parameters"):
        lines += ["| parameter | in | type | default | |", "|---|---|---|---|---|"]
        for parameter in parameters:
            schema = parameter.get("schema", {})
            default = "required" if parameter.get("required") else _code(schema.get("default"))
            text = _cell(parameter.get("description", ""))
            lines.append(f"| `{parameter['name']}` | {parameter['in']} | {_type(schema)} | {default} | {text} |")
        lines.append("")
    lines += ["```sh", _curl(method, path, operation, document), "```", ""]
    for status, response in operation.get("responses", {}).items():
        schema = _content_schema(response)
        if status.startswith("2") and schema:
            lines += _block(f"Reply {status}", _example(schema, document, _DEPTH))
    return "\n".join(lines)


def _curl(method: str, path: str, operation: Schema, document: Schema) -> str:
    """The call as a shell command: required parameters and the example of the body."""
    query = []
    for parameter in operation.get("parameters", []):
        value = str(_example(parameter.get("schema", {}), document, _DEPTH, parameter["name"]))
        path = path.replace(f"{{{parameter['name']}}}", value)
        if parameter["in"] == "query" and parameter.get("required"):
            query.append(f"{parameter['name']}={value}")
    url = f"localhost:8000{path}" + ("?" + "&".join(query) if query else "")
    command = f"curl -s{'' if method in ('GET', 'POST') else ' -X ' + method} '{url}'"
    if _NDJSON in operation.get("requestBody", {}).get("content", {}):
        return f"{command} -H 'content-type: {_NDJSON}' --data-binary @FILE"
    body = _content_schema(operation.get("requestBody", {}))
    if body is None:
        return command + (" -X POST" if method == "POST" else "")
    content = json.dumps(_request_example(body, document), ensure_ascii=False)
    return f"{command} -H 'content-type: application/json' \\\n  -d '{content}'"


def _content_schema(content: Schema) -> Schema | None:
    for media_type, value in content.get("content", {}).items():
        if media_type.endswith("json") and media_type != _NDJSON:
            return dict(value.get("schema", {}))
    return None


def _request_example(schema: Schema, document: Schema) -> Any:
    target = _resolved(schema, document)
    examples = target.get("examples") or ([target["example"]] if "example" in target else [])
    return examples[0] if examples else _example(schema, document, _DEPTH)


def _resolved(schema: Schema, document: Schema) -> Schema:
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


def _example(schema: Schema, document: Schema, depth: int, name: str = "") -> Any:
    """A value of a schema: its example or default, else one that its type suggests."""
    schema = _resolved(schema, document)
    if "examples" in schema:
        return schema["examples"][0]
    if name in _EXAMPLES and schema.get("type") in ("string", "number", "integer"):
        return _EXAMPLES[name]
    if schema.get("default") not in (None, [], {}, ""):
        return schema["default"]
    for key in ("enum", "const"):
        if key in schema:
            return schema[key][0] if key == "enum" else schema[key]
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            options = [option for option in schema[key] if option.get("type") != "null"]
            return _example(options[0], document, depth, name) if options else None
    match schema.get("type"):
        case "object" if depth > 0:
            fields = schema.get("properties", {})
            return {field: _example(value, document, depth - 1, field) for field, value in fields.items()}
        case "array" if depth > 0:
            items = _example(schema.get("items", {}), document, depth - 1, name)
            return [items] if isinstance(items, dict) and items else []
        case "object":
            return {}
        case "array":
            return []
        case "integer":
            return max(1, int(schema.get("minimum", 1)))
        case "number":
            return 0.81
        case "boolean":
            return True
        case "string":
            if schema.get("format") == "date-time":
                return "2026-11-23T03:31:23Z"
            return _ID if name.endswith("_id") or name in ("id", "") else name
    return None


def _command(command: Any, path: str) -> list[str]:
    if children := getattr(command, "commands", None):
        lines = [] if path == "jiyi" else [f"## {path}", "", command.help or "", ""]
        for name, child in children.items():
            lines += _command(child, f"{path} {name}")
        return lines
    lines = [f"### {path}", "", command.help or "", "", "| option | default | |", "|---|---|---|"]
    for parameter in command.params:
        if parameter.name == "help":
            continue
        names = ", ".join(f"`{name}`" for name in parameter.opts)
        if parameter.param_type_name == "argument":
            names = f"`{(parameter.name or '').upper()}`"
        default = parameter.default if isinstance(parameter.default, str | int | float | bool) else None
        lines.append(f"| {names} | {_code(default)} | {_cell(getattr(parameter, 'help', '') or '')} |")
    return [*lines, ""]


def _type(schema: Schema) -> str:
    if "anyOf" in schema:
        return " or ".join(_type(option) for option in schema["anyOf"] if option.get("type") != "null")
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    return str(schema.get("type", schema.get("$ref", "").rsplit("/", 1)[-1]))


def _block(title: str, value: Any) -> list[str]:
    return [f"**{title}**", "", "```json", json.dumps(value, ensure_ascii=False, indent=2), "```", ""]


def _code(value: Any) -> str:
    return "" if value is None else f"`{_cell(str(value))}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
