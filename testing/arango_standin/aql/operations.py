"""Compiles queries: each operation takes all rows of the one before (manual, "High-level operations").

A step's arguments are the running query, the rows so far, and the row that the query began with: empty for a whole
query, the outer query's row for a subquery.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ..database.errors import ServerError
from ..database.values import identity_key, is_number, order_key, truthy
from . import nodes
from .evaluator import Evaluate, ExpressionCompiler
from .execution import Execution, Row
from .functions import aggregate, distinct
from .modifications import ModificationCompiler
from .parser import parse
from .traversal import TraversalCompiler

Step = Callable[[Execution, list[Row], Row], list[Row]]


class _QueryCompiler:
    def __init__(self) -> None:
        self._expressions = ExpressionCompiler(self.query)
        self._modifications = ModificationCompiler(self._expressions.compile)
        self._traversals = TraversalCompiler(self._expressions.compile)

    def query(self, query: nodes.Query) -> Callable[[Execution, Row], list[Any]]:
        """A closure that gives the values of RETURN, none without RETURN."""
        *operations, last = query.operations
        returns = self._returns(last) if isinstance(last, nodes.Return) else None
        steps = [self._step(operation) for operation in (operations if returns else query.operations)]

        def run(execution: Execution, row: Row) -> list[Any]:
            rows = [row]
            for step in steps:
                rows = step(execution, rows, row)
            return returns(execution, rows) if returns is not None else []

        return run

    def _returns(self, operation: nodes.Return) -> Callable[[Execution, list[Row]], list[Any]]:
        value = self._expressions.compile(operation.value)

        def returns(execution: Execution, rows: list[Row]) -> list[Any]:
            values = [value(execution, row) for row in rows]
            return distinct(values) if operation.distinct else values

        return returns

    def _step(self, operation: nodes.Operation) -> Step:
        match operation:
            case nodes.For(variable, source):
                return _for(variable, self._expressions.compile(source))
            case nodes.Traversal():
                return self._traversals.compile(operation)
            case nodes.Filter(condition):
                holds = self._expressions.compile(condition)
                return lambda execution, rows, _outer: [row for row in rows if truthy(holds(execution, row))]
            case nodes.Let(variable, value):
                given = self._expressions.compile(value)
                return lambda execution, rows, _outer: [{**row, variable: given(execution, row)} for row in rows]
            case nodes.Sort(keys):
                return _sort([(self._expressions.compile(key), descending) for key, descending in keys])
            case nodes.Limit(offset, count):
                return _limit(self._expressions.compile(offset), self._expressions.compile(count))
            case nodes.Collect():
                return self._collect(operation)
            case nodes.Return():
                raise AssertionError("RETURN is the last operation")
            case _:
                return self._modifications.compile(operation)

    def _collect(self, operation: nodes.Collect) -> Step:
        groups = [(name, self._expressions.compile(value)) for name, value in operation.groups]
        aggregates = [(name, kind, self._expressions.compile(value)) for name, kind, value in operation.aggregates]
        into_value = self._expressions.compile(operation.into_value) if operation.into_value is not None else None

        def collected(execution: Execution, values: list[Any], rows: list[Row], outer: Row) -> Row:
            result = {**outer, **dict(zip((name for name, _ in groups), values, strict=True))}
            for name, kind, value in aggregates:
                result[name] = aggregate(execution, kind, [value(execution, row) for row in rows])
            if operation.count_into is not None:
                result[operation.count_into] = len(rows)
            if operation.into is not None:
                result[operation.into] = [
                    into_value(execution, row) if into_value else {name: row.get(name) for name in operation.scope}
                    for row in rows
                ]
            return result

        def collect(execution: Execution, rows: list[Row], outer: Row) -> list[Row]:
            members: dict[tuple[Any, ...], tuple[list[Any], list[Row]]] = {}
            for row in rows:
                values = [value(execution, row) for _, value in groups]
                members.setdefault(identity_key(values), (values, []))[1].append(row)
            if not groups:
                return [collected(execution, [], rows, outer)]
            ordered = sorted(members.values(), key=lambda group: order_key(group[0]))
            return [collected(execution, values, group, outer) for values, group in ordered]

        return collect


def _for(variable: str, source: Evaluate) -> Step:
    def loop(execution: Execution, rows: list[Row], _outer: Row) -> list[Row]:
        result: list[Row] = []
        for row in rows:
            values = source(execution, row)
            if not isinstance(values, list):
                raise ServerError(1563, "AQL: collection or array expected as operand to FOR loop")
            result.extend({**row, variable: value} for value in values)
        return result

    return loop


def _sort(keys: list[tuple[Evaluate, bool]]) -> Step:
    def sort(execution: Execution, rows: list[Row], _outer: Row) -> list[Row]:
        rows = list(rows)
        for key, descending in reversed(keys):
            keyed = [(order_key(key(execution, row)), row) for row in rows]
            keyed.sort(key=lambda pair: pair[0], reverse=descending)
            rows = [row for _, row in keyed]
        return rows

    return sort


def _limit(offset: Evaluate, count: Evaluate) -> Step:
    def limit(execution: Execution, rows: list[Row], _outer: Row) -> list[Row]:
        bounds = [offset(execution, {}), count(execution, {})]
        if not all(is_number(bound) and bound >= 0 and bound == int(bound) for bound in bounds):
            raise ServerError(1504, f"AQL: LIMIT value is not a number or out of range: {bounds}")
        first = int(bounds[0])
        return rows[first : first + int(bounds[1])]

    return limit


@lru_cache(maxsize=2_000)
def compile_text(query: str) -> tuple[nodes.Query, Callable[[Execution, Row], list[Any]]]:
    """Parse and compile a query; the same text is compiled once.

    Raises:
        ServerError: As `parse` and `ExpressionCompiler.compile`.
    """
    parsed = parse(query)
    return parsed, _QueryCompiler().query(parsed)
