"""The syntax tree: expressions and the operations of a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Literal:
    value: Any


@dataclass(frozen=True, slots=True)
class Bind:
    """`@name`; a value."""

    name: str


@dataclass(frozen=True, slots=True)
class Variable:
    name: str


@dataclass(frozen=True, slots=True)
class CollectionName:
    """A collection, by name or by `@@name`; exactly one is set."""

    name: str | None
    bind: str | None = None


@dataclass(frozen=True, slots=True)
class Attribute:
    base: Expression
    name: str


@dataclass(frozen=True, slots=True)
class Index:
    base: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Expansion:
    """`base[*]` and all accesses after it, which apply to each member; `each` reads the variable `CURRENT_MEMBER`."""

    base: Expression
    each: Expression


CURRENT_MEMBER = "*"


@dataclass(frozen=True, slots=True)
class Unary:
    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Ternary:
    """`condition ? then : otherwise`; without `then` the condition's own value is taken."""

    condition: Expression
    then: Expression | None
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Range:
    low: Expression
    high: Expression


@dataclass(frozen=True, slots=True)
class ArrayLiteral:
    members: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class ObjectLiteral:
    members: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Subquery:
    query: Query


Expression = (
    Literal | Bind | Variable | CollectionName | Attribute | Index | Expansion | Unary | Binary | Ternary | Range
    | ArrayLiteral | ObjectLiteral | Call | Subquery
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class For:
    variable: str
    source: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Traversal:
    """A graph traversal; `edges` for an anonymous graph, `graph` for a named one."""

    vertex: str
    edge: str | None
    path: str | None
    low: Expression
    high: Expression
    direction: str
    start: Expression
    edges: tuple[CollectionName, ...]
    graph: Expression | None
    prune: Expression | None
    options: Expression | None


@dataclass(frozen=True, slots=True, eq=False)
class Filter:
    condition: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Sort:
    """Keys with whether each descends."""

    keys: tuple[tuple[Expression, bool], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Limit:
    offset: Expression
    count: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Let:
    variable: str
    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Collect:
    """COLLECT; `scope` names the variables that INTO without an expression gathers."""

    groups: tuple[tuple[str, Expression], ...]
    aggregates: tuple[tuple[str, str, Expression], ...]
    into: str | None
    into_value: Expression | None
    count_into: str | None
    scope: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Return:
    value: Expression
    distinct: bool


@dataclass(frozen=True, slots=True, eq=False)
class Insert:
    document: Expression
    collection: CollectionName
    options: Expression | None


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """UPDATE (`replace` false) or REPLACE; without `document` the key expression is the document."""

    key: Expression
    document: Expression
    collection: CollectionName
    options: Expression | None
    replace: bool


@dataclass(frozen=True, slots=True, eq=False)
class Remove:
    key: Expression
    collection: CollectionName
    options: Expression | None


@dataclass(frozen=True, slots=True, eq=False)
class Upsert:
    search: ObjectLiteral
    insert: Expression
    update: Expression
    collection: CollectionName
    options: Expression | None


Modification = Insert | Change | Remove | Upsert
Operation = For | Traversal | Filter | Sort | Limit | Let | Collect | Return | Modification


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A query or subquery.

    Attributes:
        operations: In order; RETURN, where there is one, comes last.
        collections: The names after WITH; only the outermost query has them.
        binds: Names of all bind variables used, collection binds with their leading `@`.
    """

    operations: Sequence[Operation]
    collections: tuple[CollectionName, ...] = ()
    binds: frozenset[str] = field(default_factory=frozenset)
