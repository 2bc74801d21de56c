"""Each call of the client is one of the OpenAPI document, with its parameters, fields and reply; none is left out."""

import inspect
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, get_type_hints

import pytest
from pydantic import TypeAdapter

from deployments.http.app import build_http
from jiyi.client import resources
from jiyi.client.calls import Call, Download, Paged, Streamed
from jiyi.client.endpoints import Resource, _Described

OTHER_DOORS = ("/v1/", "/mem0/", "/mcp", "/store/", "/dialogue", "/.well-known/", "/docs", "/openapi.json")
"""Paths of interfaces that have clients of their own."""
NOT_CALLED = {"GET /health": "it is GET /health/live"}
_SAMPLES: Mapping[str, Any] = {
    "file": io.BytesIO(b"x"),
    "content": "x",
    "messages": [{"content": "x"}],
    "decisions": {"m": "retain"},
    "policy": {"decay_rate": 0.1},
    "tombstones": [],
    "metadata": {"a": 1},
    "version": 1,
    "texts": ["x"],
    "kind": "nightly",
}


@cache
def document() -> dict[str, Any]:
    return build_http(nullcontext).openapi()  # type: ignore[arg-type]


def described() -> Iterator[tuple[str, Any]]:
    """Every description with its name."""
    for module in iter_modules(resources.__path__):
        for kind in vars(import_module(f"{resources.__name__}.{module.name}")).values():
            if inspect.isclass(kind) and issubclass(kind, Resource) and kind is not Resource:
                for name, value in vars(kind).items():
                    if isinstance(value, _Described):
                        yield f"{kind.__name__}.{name}", value


CALLS = dict(described())


def sent(method: Any, *, whole: bool) -> Call[Any]:
    """The call for samples of its arguments: of all, or of those that it needs."""
    given: dict[str, Any] = {}
    for name, parameter in [*inspect.signature(method.describe).parameters.items()][1:]:
        if whole or parameter.default is inspect.Parameter.empty:
            hint = str(parameter.annotation)
            number = 1 if "int" in hint or "float" in hint else True if "bool" in hint else "x"
            sample = ["x"] if "Sequence[str]" in hint else {"a": 1} if "Mapping" in hint else number
            given[name] = _SAMPLES.get(name, sample) if "Sequence[str]" not in hint else sample
    if "content" in given and "name" in given:
        given["content"] = b"x"
    made = method.describe(None, **given)
    if isinstance(made, Paged | Streamed | Download):
        return made.call
    assert isinstance(made, Call)
    return made


def operation(call: Call[Any]) -> tuple[str, Mapping[str, Any]]:
    """The operation of a call: the most literal path that fits."""
    fitting = [
        path
        for path, methods in document()["paths"].items()
        if call.method.lower() in methods and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), call.path)
    ]
    assert fitting, f"{call.method} {call.path} is in no document"
    path = min(fitting, key=lambda path: path.count("{"))
    return path, document()["paths"][path][call.method.lower()]


def schema_of(content: Mapping[str, Any]) -> Mapping[str, Any] | None:
    schema = content.get("application/json", {}).get("schema")
    if schema and "$ref" in schema:
        resolved: Mapping[str, Any] = document()["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        return resolved
    return schema  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", CALLS)
def test_a_call_has_the_parameters_and_fields_of_its_operation(name: str) -> None:
    for whole in (False, True):
        call = sent(CALLS[name], whole=whole)
        _, documented = operation(call)
        parameters = {each["name"]: each for each in documented.get("parameters", []) if each["in"] == "query"}
        assert call.params.keys() <= parameters.keys()
        assert {name for name, each in parameters.items() if each.get("required")} <= call.params.keys()
        if call.body is not None:
            schema = schema_of(documented["requestBody"]["content"])
            assert schema is not None
            assert call.body.keys() <= schema["properties"].keys()
            assert set(schema.get("required", [])) <= call.body.keys()


@pytest.mark.parametrize("name", [name for name, each in CALLS.items() if type(each).__name__ in ("endpoint", "pages")])
def test_a_call_reads_the_reply_of_its_operation(name: str) -> None:
    method = CALLS[name]
    _, documented = operation(sent(method, whole=False))
    status, reply = next((status, reply) for status, reply in documented["responses"].items() if status[0] == "2")
    schema = schema_of(reply["content"])
    if not schema or method.reply in (str, dict[str, str]):
        return  # the document does not say what it holds
    ours = TypeAdapter(method.reply).json_schema(mode="serialization")
    assert _shape(ours) == _shape(schema), f"{name} {status}"


def _shape(schema: Mapping[str, Any]) -> Any:
    if "anyOf" in schema:
        return sorted(str(each.get("$ref", each.get("type"))).rsplit("/", 1)[-1] for each in schema["anyOf"])
    return schema.get("title"), sorted(schema.get("properties", {}))


def test_every_operation_has_a_call() -> None:
    called = {f"{call.method} {operation(call)[0]}" for call in (sent(each, whole=False) for each in CALLS.values())}
    called |= {"PUT /memories/policy", "GET /memories/policy", "POST /memories/policy/preview"}
    documented = {
        f"{method.upper()} {path}"
        for path, methods in document()["paths"].items()
        for method in methods
        if not path.startswith(OTHER_DOORS)
    }
    assert documented - called - NOT_CALLED.keys() == set()


def test_every_call_says_what_comes_back() -> None:
    for name, each in CALLS.items():
        assert each.__doc__, name
        assert get_type_hints(each.describe)["return"], name
