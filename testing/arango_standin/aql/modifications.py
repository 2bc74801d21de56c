"""Compiles INSERT, UPDATE, REPLACE, REMOVE and UPSERT (manual, "High-level operations")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..database.errors import ServerError
from ..database.store import Collection, Document
from ..database.values import equal, to_string
from . import nodes
from .evaluator import Evaluate
from .execution import Execution, Row

Options = dict[str, Any]
Step = Callable[[Execution, list[Row], Row], list[Row]]
Pair = tuple[Document | None, Document | None]
Modify = Callable[[Execution, Row, Collection, Options], Pair]

_MODES = ("conflict", "ignore", "replace", "update")
_KNOWN_OPTIONS: dict[type, frozenset[str]] = {
    nodes.Insert: frozenset({"overwriteMode", "ignoreErrors", "keepNull", "mergeObjects", "waitForSync"}),
    nodes.Change: frozenset({"ignoreErrors", "keepNull", "mergeObjects", "waitForSync"}),
    nodes.Remove: frozenset({"ignoreErrors", "waitForSync"}),
    nodes.Upsert: frozenset({"ignoreErrors", "keepNull", "mergeObjects", "waitForSync"}),
}


def _key_of(value: Any) -> str:
    """The key in a key expression: a string, or a document with `_key`."""
    if isinstance(value, dict):
        value = value.get("_key")
        if not isinstance(value, str):
            raise ServerError(1226, "AQL: missing document key: expected _key to be a string attribute in document")
    if not isinstance(value, str):
        raise ServerError(1227, "AQL: invalid document type: expected object or string")
    return value


class ModificationCompiler:
    """Turns data modifications into steps; each row gains OLD and NEW.

    Args:
        compile_expression: Compiles an expression.
    """

    def __init__(self, compile_expression: Callable[[nodes.Expression], Evaluate]) -> None:
        self._compile = compile_expression

    def compile(self, operation: nodes.Modification) -> Step:
        """A closure that modifies a document for each row and leaves out the rows whose error it ignores."""
        modify = self._modify(operation)
        options = self._options(operation)

        def step(execution: Execution, rows: list[Row], _outer: Row) -> list[Row]:
            collection = execution.collection(operation.collection)
            execution.transaction.check_write(collection.name)
            given = options(execution)
            result: list[Row] = []
            for row in rows:
                try:
                    old, new = modify(execution, row, collection, given)
                except ServerError:
                    if not given.get("ignoreErrors"):
                        raise
                    execution.writes_ignored += 1
                    continue
                execution.writes_executed += 1
                result.append({**row, "OLD": old, "NEW": new})
            return result

        return step

    def _options(self, operation: nodes.Modification) -> Callable[[Execution], Options]:
        given = self._compile(operation.options) if operation.options is not None else None

        def options(execution: Execution) -> Options:
            values: Options = given(execution, {}) if given is not None else {}
            unknown = values.keys() - _KNOWN_OPTIONS[type(operation)]
            if unknown or values.get("overwriteMode", "conflict") not in _MODES:
                raise ServerError(1539, f"AQL: invalid option, or outside the subset: {values}")
            return values

        return options

    def _modify(self, operation: nodes.Modification) -> Modify:
        match operation:
            case nodes.Insert():
                return self._insert(operation)
            case nodes.Change():
                return self._change(operation)
            case nodes.Remove(key):
                removed = self._compile(key)
                return lambda execution, row, collection, _options: (
                    execution.transaction.remove(collection, _key_of(removed(execution, row))),
                    None,
                )
            case nodes.Upsert():
                return self._upsert(operation)

    def _insert(self, operation: nodes.Insert) -> Modify:
        document = self._compile(operation.document)

        def insert(execution: Execution, row: Row, collection: Collection, options: Options) -> Pair:
            mode = options.get("overwriteMode", "conflict")
            return execution.transaction.insert(collection, document(execution, row), mode)

        return insert

    def _change(self, operation: nodes.Change) -> Modify:
        key, document = self._compile(operation.key), self._compile(operation.document)

        def change(execution: Execution, row: Row, collection: Collection, options: Options) -> Pair:
            return execution.transaction.change(
                collection,
                _key_of(key(execution, row)),
                document(execution, row),
                replace=operation.replace,
                keep_null=bool(options.get("keepNull", True)),
                merge_objects=bool(options.get("mergeObjects", True)),
            )

        return change

    def _upsert(self, operation: nodes.Upsert) -> Modify:
        search = [(self._compile(name), self._compile(value)) for name, value in operation.search.members]
        insert, update = self._compile(operation.insert), self._compile(operation.update)

        def upsert(execution: Execution, row: Row, collection: Collection, options: Options) -> Pair:
            wanted = {to_string(name(execution, row)): value(execution, row) for name, value in search}
            old = _find(execution, collection, wanted)
            if old is None:
                return execution.transaction.insert(collection, insert(execution, row), "conflict")
            return execution.transaction.change(
                collection,
                old["_key"],
                update(execution, {**row, "OLD": old}),
                replace=False,
                keep_null=bool(options.get("keepNull", True)),
                merge_objects=bool(options.get("mergeObjects", True)),
            )

        return upsert


def _find(execution: Execution, collection: Collection, wanted: Document) -> Document | None:
    """A document with these attributes; null also stands for a missing one."""
    key = wanted.get("_key")
    if isinstance(key, str):
        found = execution.transaction.get(collection, key)
        candidates = [found] if found is not None else []
    else:
        candidates = execution.transaction.scan(collection)
    return next(
        (found for found in candidates if all(equal(found.get(name), value) for name, value in wanted.items())), None
    )
