"""Parses AQL expressions by precedence (manual, "Operators"; `NOT` and `!` bind tightest, unlike SQL's)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..database.errors import ServerError, syntax_error
from . import nodes
from .lexer import Token, tokenize

# the higher the tighter; unary operators are tighter than all of them
_PRECEDENCE = {
    "||": 2, "&&": 3, "==": 4, "!=": 4, "IN": 5, "NOT IN": 5, "<": 6, "<=": 6, ">": 6, ">=": 6, "..": 7,
    "+": 8, "-": 8, "*": 9, "/": 9, "%": 9,
}  # fmt: skip
Item = TypeVar("Item")
_WORDS = {"OR": "||", "AND": "&&"}


class ExpressionParser:
    """Reads expressions from a query's tokens, resolving names against the variables in scope."""

    def __init__(self, query: str) -> None:
        self._tokens = tokenize(query)
        self._position = 0
        self.binds: set[str] = set()
        self.scopes: list[dict[str, None]] = []
        self.parse_subquery: Callable[[], nodes.Subquery]

    # tokens

    @property
    def token(self) -> Token:
        """The next token."""
        return self._tokens[self._position]

    def peek(self, ahead: int = 1) -> Token:
        """A token further on."""
        return self._tokens[min(self._position + ahead, len(self._tokens) - 1)]

    def advance(self) -> Token:
        """Take the next token."""
        token = self.token
        self._position += 1
        return token

    def unexpected(self) -> ServerError:
        """The error for the next token."""
        return syntax_error(f"unexpected {self.token.text!r}", self.token.position)

    def at(self, kind: str, text: str) -> bool:
        """Whether the next token is this one."""
        return self.token.kind == kind and self.token.text == text

    def accept(self, kind: str, text: str) -> bool:
        """Take the next token if it is this one."""
        if self.at(kind, text):
            self._position += 1
            return True
        return False

    def expect(self, kind: str, text: str) -> None:
        """Take the next token, which must be this one."""
        if not self.accept(kind, text):
            raise self.unexpected()

    def word(self, text: str) -> bool:
        """Take a contextual keyword (PRUNE, OPTIONS, COUNT), which is a plain name elsewhere."""
        if self.token.kind == "name" and self.token.text.upper() == text:
            self._position += 1
            return True
        return False

    def name(self) -> str:
        """Take a name."""
        if self.token.kind != "name":
            raise self.unexpected()
        return self.advance().text

    # variables

    def visible(self, name: str) -> bool:
        """Whether a variable of this name is in scope."""
        return any(name in scope for scope in self.scopes)

    def declare(self, name: str) -> str:
        """Bring a new variable into scope."""
        if self.visible(name):
            raise ServerError(1511, f"AQL: variable '{name}' is assigned multiple times (while parsing)")
        self.scopes[-1][name] = None
        return name

    def collection(self) -> nodes.CollectionName:
        """A collection's name, or a collection bind variable."""
        if self.token.kind == "bind":
            if not self.token.text.startswith("@"):
                raise self.unexpected()
            self.binds.add(self.token.text)
            return nodes.CollectionName(None, self.advance().text)
        return nodes.CollectionName(self.name())

    # expressions

    def expression(self, minimum: int = 0) -> nodes.Expression:
        """An expression of operators at least as tight as `minimum`."""
        left = self._unary()
        while (operator := self._operator()) is not None and _PRECEDENCE[operator] >= minimum:
            self.advance()
            if operator == "NOT IN":
                self.advance()
            right = self.expression(_PRECEDENCE[operator] + 1)
            left = nodes.Range(left, right) if operator == ".." else nodes.Binary(operator, left, right)
        if minimum == 0 and self.accept("operator", "?"):
            return self._ternary(left)
        return left

    def _ternary(self, condition: nodes.Expression) -> nodes.Expression:
        then = None if self.at("operator", ":") else self.expression()
        self.expect("operator", ":")
        return nodes.Ternary(condition, then, self.expression())

    def _operator(self) -> str | None:
        token = self.token
        if token.kind == "keyword":
            if token.text == "NOT":
                return "NOT IN" if self.peek()[:2] == ("keyword", "IN") else None
            text = _WORDS.get(token.text, token.text)
            return text if text in _PRECEDENCE else None
        return token.text if token.kind == "operator" and token.text in _PRECEDENCE else None

    def _unary(self) -> nodes.Expression:
        if self.accept("operator", "!") or self.accept("keyword", "NOT"):
            return nodes.Unary("!", self._unary())
        for sign in "+-":
            if self.accept("operator", sign):
                return nodes.Unary(sign, self._unary())
        return self._accesses(self._primary())

    def _accesses(self, base: nodes.Expression) -> nodes.Expression:
        """Attribute access, index access and expansion after a value."""
        while True:
            if self.accept("operator", "."):
                base = nodes.Attribute(base, self.name())
            elif self.accept("operator", "["):
                if self.accept("operator", "*"):
                    self.expect("operator", "]")
                    return nodes.Expansion(base, self._accesses(nodes.Variable(nodes.CURRENT_MEMBER)))
                base = nodes.Index(base, self.expression())
                self.expect("operator", "]")
            else:
                return base

    def _primary(self) -> nodes.Expression:
        token = self.token
        if token.kind == "number":
            self.advance()
            whole = token.text.isdigit()
            return nodes.Literal(int(token.text) if whole else float(token.text))
        if token.kind == "string":
            return nodes.Literal(self.advance().text)
        if token.kind == "keyword" and token.text in ("NULL", "TRUE", "FALSE"):
            return nodes.Literal({"NULL": None, "TRUE": True, "FALSE": False}[self.advance().text])
        if token.kind == "bind":
            return self._bind()
        if token.kind == "name":
            if self.peek()[:2] == ("operator", "("):
                return self._call()
            return nodes.Variable(self.advance().text) if self.visible(token.text) else self.collection()
        if self.accept("operator", "("):
            return self._parenthesis()
        if self.accept("operator", "["):
            return nodes.ArrayLiteral(tuple(self._list("]", self.expression)))
        if self.accept("operator", "{"):
            return nodes.ObjectLiteral(tuple(self._list("}", self._member)))
        raise self.unexpected()

    def _bind(self) -> nodes.Expression:
        if self.token.text.startswith("@"):
            return self.collection()
        self.binds.add(self.token.text)
        return nodes.Bind(self.advance().text)

    def _begins_query(self) -> bool:
        return self.token.kind == "keyword" and self.token.text in (
            "FOR", "LET", "RETURN", "FILTER", "INSERT", "UPDATE", "REPLACE", "REMOVE", "UPSERT"
        )  # fmt: skip

    def _parenthesis(self) -> nodes.Expression:
        inner = self.parse_subquery() if self._begins_query() else self.expression()
        self.expect("operator", ")")
        return inner

    def _call(self) -> nodes.Expression:
        function = self.advance().text.upper()
        self.expect("operator", "(")

        def argument() -> nodes.Expression:
            return self.parse_subquery() if self._begins_query() else self.expression()

        return nodes.Call(function, tuple(self._list(")", argument)))

    def _list(self, close: str, item: Callable[[], Item]) -> list[Item]:
        items: list[Item] = []
        while not self.accept("operator", close):
            items.append(item())
            if not self.accept("operator", ","):
                self.expect("operator", close)
                break
        return items

    def _member(self) -> tuple[nodes.Expression, nodes.Expression]:
        """One attribute of an object literal; its name may be quoted, `[computed]`, or alone for a variable's value."""
        if self.accept("operator", "["):
            key = self.expression()
            self.expect("operator", "]")
        elif self.token.kind in ("name", "string"):
            shorthand = self.token.kind == "name" and not (self.peek().kind == "operator" and self.peek().text == ":")
            token = self.advance()
            key = nodes.Literal(token.text)
            if shorthand:
                if not self.visible(token.text):
                    raise ServerError(1512, f"AQL: unknown variable '{token.text}' in object literal (while parsing)")
                return key, nodes.Variable(token.text)
        else:
            raise self.unexpected()
        self.expect("operator", ":")
        return key, self.expression()
