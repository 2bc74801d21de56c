"""Importing the package is free; the client loads no engine, no model and no store."""

import subprocess
import sys

import pytest

import jiyi

HEAVY = {"torch", "ray", "transformers", "opencc", "qdrant_client", "redis", "jsonschema", "numpy.random"}


@pytest.mark.parametrize(
    ("program", "absent"),
    [
        ("import jiyi", {"pydantic", "httpx", "fastapi", *HEAVY}),
        ("from jiyi import errors", {"pydantic", "fastapi", *HEAVY}),
        ("from jiyi import Client; Client().close()", HEAVY),
    ],
)
def test_only_what_is_named_is_loaded(program: str, absent: set[str]) -> None:
    code = f"{program}\nimport sys; print(sorted({absent!r} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert loaded.stdout.strip() == "[]"


def test_all_names_are_there_and_no_others() -> None:
    assert {name: getattr(jiyi, name).__name__ for name in jiyi.__all__} == {name: name for name in jiyi.__all__}
    with pytest.raises(AttributeError, match="JiyiClient"):
        jiyi.JiyiClient  # noqa: B018
