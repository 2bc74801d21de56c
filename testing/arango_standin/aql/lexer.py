"""AQL's tokens (manual, "Syntax"): keywords are reserved in any case, names may be quoted with backticks."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..database.errors import syntax_error

_WORDS = (
    "AGGREGATE ALL ALL_SHORTEST_PATHS AND ANY ASC COLLECT DESC DISTINCT FALSE FILTER FOR GRAPH IN INBOUND INSERT "
    "INTO K_PATHS K_SHORTEST_PATHS LET LIKE LIMIT NONE NOT NULL OR OUTBOUND REMOVE REPLACE RETURN SHORTEST_PATH "
    "SORT TRUE UPDATE UPSERT WINDOW WITH "
)
KEYWORDS = frozenset(_WORDS.split())

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n]+ | //[^\n]* | /\*.*?\*/)
  | (?P<number>(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
  | (?P<string>"(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*')
  | (?P<quoted>`(?:[^`\\]|\\.)*`)
  | (?P<bind>@@?(?:_+[a-zA-Z0-9]+[a-zA-Z0-9_]*|[a-zA-Z0-9][a-zA-Z0-9_]*))
  | (?P<name>\$?[a-zA-Z][_a-zA-Z0-9]*|_+[a-zA-Z]+[_a-zA-Z0-9]*)
  | (?P<operator>==|!=|<=|>=|&&|\|\||\.\.|[-+*/%<>=!?:.,()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Token(NamedTuple):
    """A token.

    Attributes:
        kind: "keyword" (text in capitals), "name", "bind" (text without the first `@`), "number", "string", "operator",
            or "end".
        text: The text, unescaped.
        position: Offset in the query, in characters.
    """

    kind: str
    text: str
    position: int


def _unescape(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code[1:], 16)) if len(code) == 5 else _ESCAPED.get(code, code)

    return _ESCAPE.sub(character, text)


def tokenize(query: str) -> list[Token]:
    """Split a query into tokens, the last of kind "end".

    Raises:
        ServerError: 1501 where no token begins.
    """
    tokens: list[Token] = []
    position = 0
    while position < len(query):
        match = _TOKEN.match(query, position)
        if match is None:
            raise syntax_error(f"unexpected {query[position]!r}", position)
        kind, text = str(match.lastgroup), match[0]
        if kind == "number" and match.end() < len(query) and query[match.end()].isalnum():
            raise syntax_error(f"unexpected {query[match.end()]!r} after a number", match.end())
        if kind == "name" and text.upper() in KEYWORDS:
            tokens.append(Token("keyword", text.upper(), position))
        elif kind == "quoted":
            tokens.append(Token("name", _unescape(text[1:-1]), position))
        elif kind == "string":
            tokens.append(Token("string", _unescape(text[1:-1]), position))
        elif kind == "bind":
            tokens.append(Token("bind", text[1:], position))
        elif kind != "space":
            tokens.append(Token(kind, text, position))
        position = match.end()
    tokens.append(Token("end", "end of query string", position))
    return tokens
