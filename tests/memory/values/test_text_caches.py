"""No cache keeps what was read of somebody who is forgotten."""

import ast
from pathlib import Path
from typing import Any

from memory.extraction.junk import junk_kind
from memory.language.keywords import term_id
from memory.values import text_caches
from memory.values.text_caches import clear_with_texts, forget_texts, text_cache

ROOT = Path(__file__).parents[3]


def test_forgetting_empties_every_cache_of_texts() -> None:
    read = []

    @text_cache(maxsize=8)
    def length(text: str) -> int:
        read.append(text)
        return len(text)

    assert [length("secret"), length("secret")] == [6, 6]
    forget_texts()
    assert length("secret") == 6
    assert read == ["secret", "secret"]


def test_the_caches_of_the_domain_are_among_them() -> None:
    junk_kind("a secret name")
    term_id("secret")
    forget_texts()
    caches: list[Any] = [junk_kind, term_id]
    assert [cached.cache_info().currsize for cached in caches] == [0, 0]


def test_an_object_that_is_gone_is_not_kept_by_its_cache() -> None:
    class Reader:
        def __init__(self) -> None:
            self.kept = ["secret"]
            clear_with_texts(self.clear)

        def clear(self) -> None:
            self.kept = []

    reader = Reader()
    forget_texts()
    assert reader.kept == []
    before = len(text_caches._clear_of_objects)
    del reader
    forget_texts()
    assert len(text_caches._clear_of_objects) == before - 1


def test_nothing_else_caches_by_text() -> None:
    """`functools.cache` is for what is read once, such as a word list."""
    found = [
        str(file.relative_to(ROOT))
        for package in ("memory", "models", "storage", "deployments")
        for file in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "functools"
        if any(name.name == "lru_cache" for name in node.names)
    ]
    assert found == ["memory/values/text_caches.py"]
