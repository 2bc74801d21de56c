"""Compiles expressions to closures over the running query and a row of variables (manual, "Operators")."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from ..database.errors import ServerError
from ..database.values import double, equal, identity_key, order_key, to_number, to_string, truthy
from . import nodes
from .execution import Execution, Row
from .functions import COLLECTION_FUNCTIONS, FUNCTIONS

Evaluate = Callable[[Execution, Row], Any]
CompileQuery = Callable[[nodes.Query], Callable[[Execution, Row], list[Any]]]

_ORDER = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul}


class ExpressionCompiler:
    """Turns expressions into closures.

    Args:
        compile_query: Compiles a subquery.
    """

    def __init__(self, compile_query: CompileQuery) -> None:
        self._compile_query = compile_query

    def compile(self, node: nodes.Expression) -> Evaluate:
        """A closure that gives the expression's value.

        Raises:
            ServerError: 1540 for an unknown function, 1541 for a wrong number of arguments.
        """
        match node:
            case nodes.Literal(value):
                return lambda _execution, _row: value
            case nodes.Bind(name):
                return lambda execution, _row: execution.binds[name]
            case nodes.Variable(name):
                return lambda _execution, row: row[name]
            case nodes.CollectionName():
                return lambda execution, _row: execution.scan(execution.name_of(node))
            case nodes.Attribute(base, name):
                return self._attribute(self.compile(base), name)
            case nodes.Index(base, index):
                return self._index(self.compile(base), self.compile(index))
            case nodes.Expansion(base, each):
                return self._expansion(self.compile(base), self.compile(each))
            case nodes.Unary(sign, operand):
                return self._unary(sign, self.compile(operand))
            case nodes.Binary(sign, left, right):
                if sign in ("IN", "NOT IN") and isinstance(right, nodes.Bind):
                    return _membership_of_bind(self.compile(left), right.name, wanted=sign == "IN")
                return _binary(sign, self.compile(left), self.compile(right))
            case nodes.Ternary(condition, then, otherwise):
                compiled = self.compile(then) if then is not None else None
                return _ternary(self.compile(condition), compiled, self.compile(otherwise))
            case nodes.Range(low, high):
                return _range(self.compile(low), self.compile(high))
            case nodes.ArrayLiteral(members):
                parts = [self.compile(member) for member in members]
                return lambda execution, row: [part(execution, row) for part in parts]
            case nodes.ObjectLiteral(members):
                pairs = [(self.compile(key), self.compile(value)) for key, value in members]
                return lambda execution, row: {
                    to_string(key(execution, row)): value(execution, row) for key, value in pairs
                }
            case nodes.Call():
                return self._call(node)
            case nodes.Subquery(query):
                return self._compile_query(query)

    def _attribute(self, base: Evaluate, name: str) -> Evaluate:
        def attribute(execution: Execution, row: Row) -> Any:
            value = base(execution, row)
            return value.get(name) if isinstance(value, dict) else None

        return attribute

    def _index(self, base: Evaluate, index: Evaluate) -> Evaluate:
        def indexed(execution: Execution, row: Row) -> Any:
            value, at = base(execution, row), index(execution, row)
            if isinstance(value, dict):
                return value.get(to_string(at))
            if not isinstance(value, list):
                return None
            position = int(to_number(at))
            return value[position] if -len(value) <= position < len(value) else None

        return indexed

    def _expansion(self, base: Evaluate, each: Evaluate) -> Evaluate:
        def expansion(execution: Execution, row: Row) -> Any:
            value = base(execution, row)
            if not isinstance(value, list):
                return []
            return [each(execution, {**row, nodes.CURRENT_MEMBER: member}) for member in value]

        return expansion

    def _unary(self, sign: str, operand: Evaluate) -> Evaluate:
        if sign == "!":
            return lambda execution, row: not truthy(operand(execution, row))
        factor = -1 if sign == "-" else 1
        return lambda execution, row: factor * to_number(operand(execution, row))

    def _call(self, node: nodes.Call) -> Evaluate:
        function = FUNCTIONS.get(node.function)
        if function is None:
            raise ServerError(1540, f"AQL: usage of unknown function '{node.function}()' (while parsing)")
        given = len(node.arguments)
        if given < function.least or (function.most is not None and given > function.most):
            raise ServerError(
                1541, f"AQL: invalid number of arguments for function '{node.function}()', got {given} (while parsing)"
            )
        arguments = [self.compile(argument) for argument in node.arguments]
        first = node.arguments[0]
        if isinstance(first, nodes.CollectionName) and node.function in COLLECTION_FUNCTIONS - {"LENGTH", "COUNT"}:
            arguments[0] = lambda execution, _row: execution.name_of(first)
        call = function.call
        return lambda execution, row: call(execution, *[argument(execution, row) for argument in arguments])


def _binary(sign: str, left: Evaluate, right: Evaluate) -> Evaluate:
    if sign == "&&":
        return lambda execution, row: right(execution, row) if truthy(value := left(execution, row)) else value
    if sign == "||":
        return lambda execution, row: value if truthy(value := left(execution, row)) else right(execution, row)
    if sign == "==":
        return lambda execution, row: equal(left(execution, row), right(execution, row))
    if sign == "!=":
        return lambda execution, row: not equal(left(execution, row), right(execution, row))
    if sign in _ORDER:
        compare = _ORDER[sign]
        return lambda execution, row: compare(order_key(left(execution, row)), order_key(right(execution, row)))
    if sign in ("IN", "NOT IN"):
        return _membership(left, right, wanted=sign == "IN")
    return _arithmetic(sign, left, right)


def _membership(left: Evaluate, right: Evaluate, *, wanted: bool) -> Evaluate:
    def membership(execution: Execution, row: Row) -> bool:
        value, members = left(execution, row), right(execution, row)
        # neither IN nor NOT IN holds for what is no array
        if not isinstance(members, list):
            return False
        key = identity_key(value)
        return any(identity_key(member) == key for member in members) is wanted

    return membership


def _membership_of_bind(left: Evaluate, bind: str, *, wanted: bool) -> Evaluate:
    def membership(execution: Execution, row: Row) -> bool:
        members = execution.members_of_bind(bind)
        return members is not None and (identity_key(left(execution, row)) in members) is wanted

    return membership


def _arithmetic(sign: str, left: Evaluate, right: Evaluate) -> Evaluate:
    def arithmetic(execution: Execution, row: Row) -> Any:
        first, second = to_number(left(execution, row)), to_number(right(execution, row))
        if sign in _ARITHMETIC:
            return double(_ARITHMETIC[sign](first, second))
        if second == 0:
            execution.warn(1562, "division by zero")
            return None
        return double(first / second if sign == "/" else math.fmod(first, second))

    return arithmetic


def _ternary(condition: Evaluate, then: Evaluate | None, otherwise: Evaluate) -> Evaluate:
    def ternary(execution: Execution, row: Row) -> Any:
        value = condition(execution, row)
        if not truthy(value):
            return otherwise(execution, row)
        return then(execution, row) if then is not None else value

    return ternary


def _range(low: Evaluate, high: Evaluate) -> Evaluate:
    def numbers(execution: Execution, row: Row) -> list[int]:
        first, last = int(to_number(low(execution, row))), int(to_number(high(execution, row)))
        return list(range(first, last + 1)) if first <= last else list(range(first, last - 1, -1))

    return numbers
