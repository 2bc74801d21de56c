"""Parses AQL queries of the subset (manual, "High-level operations")."""

from __future__ import annotations

from functools import lru_cache

from ..database.errors import ServerError, syntax_error
from . import nodes
from .expressions import ExpressionParser

AGGREGATE_FUNCTIONS = frozenset({"LENGTH", "COUNT", "MIN", "MAX", "SUM", "AVERAGE", "AVG", "UNIQUE"})
_DIRECTIONS = ("OUTBOUND", "INBOUND", "ANY")


class _QueryParser(ExpressionParser):
    def __init__(self, query: str) -> None:
        super().__init__(query)
        self.parse_subquery = self._subquery
        self._operations = {
            "FOR": self._for,
            "FILTER": lambda: nodes.Filter(self.expression()),
            "SORT": self._sort,
            "LIMIT": self._limit,
            "LET": self._let,
            "COLLECT": self._collect,
            "RETURN": lambda: nodes.Return(distinct=self.accept("keyword", "DISTINCT"), value=self.expression()),
            "INSERT": self._insert,
            "UPDATE": lambda: self._change(replace=False),
            "REPLACE": lambda: self._change(replace=True),
            "REMOVE": self._remove,
            "UPSERT": self._upsert,
        }

    def whole(self) -> nodes.Query:
        collections: list[nodes.CollectionName] = []
        if self.token.kind == "end":
            raise ServerError(1502, "AQL: query is empty (while parsing)")
        if self.accept("keyword", "WITH"):
            collections.append(self.collection())
            while self.accept("operator", ","):
                collections.append(self.collection())
        query = self._query(tuple(collections))
        if self.token.kind != "end":
            raise self.unexpected()
        return query

    def _subquery(self) -> nodes.Subquery:
        return nodes.Subquery(self._query(()))

    def _query(self, collections: tuple[nodes.CollectionName, ...]) -> nodes.Query:
        self.scopes.append({})
        operations: list[nodes.Operation] = []
        while self.token.kind == "keyword" and self.token.text in self._operations:
            if operations and isinstance(operations[-1], nodes.Return):
                raise self.unexpected()
            operations.append(self._operations[self.advance().text]())
        self.scopes.pop()
        if not any(isinstance(operation, nodes.Return | nodes.Modification) for operation in operations):
            raise self.unexpected()
        if not isinstance(operations[-1], nodes.Return | nodes.Modification):
            raise syntax_error("a query ends with RETURN or a data modification", self.token.position)
        return nodes.Query(tuple(operations), collections, frozenset(self.binds))

    def _for(self) -> nodes.For | nodes.Traversal:
        names = [self.name()]
        while self.accept("operator", ",") and len(names) < 3:
            names.append(self.name())
        self.expect("keyword", "IN")
        depth: nodes.Expression | None = None
        if not self._at_direction():
            source = self.expression()
            if not self._at_direction():
                if len(names) > 1:
                    raise self.unexpected()
                return nodes.For(self.declare(names[0]), source)
            depth = source
        return self._traversal(names, depth or nodes.Literal(1))

    def _at_direction(self) -> bool:
        return self.token.kind == "keyword" and self.token.text in _DIRECTIONS

    def _traversal(self, names: list[str], depth: nodes.Expression) -> nodes.Traversal:
        low, high = (depth.low, depth.high) if isinstance(depth, nodes.Range) else (depth, depth)
        direction = self.advance().text
        if self.token.kind == "keyword":
            raise syntax_error(f"{self.token.text} is outside the subset", self.token.position)
        start = self.expression()
        edges: list[nodes.CollectionName] = []
        graph: nodes.Expression | None = None
        if self.accept("keyword", "GRAPH"):
            graph = self._graph_name()
        else:
            edges.append(self.collection())
            while self.accept("operator", ","):
                edges.append(self.collection())
        for name in names:
            self.declare(name)
        prune = self.expression() if self.word("PRUNE") else None
        vertex, edge, path = [*names, None, None][:3]
        return nodes.Traversal(
            str(vertex), edge, path, low, high, direction, start, tuple(edges), graph, prune, self._options()
        )

    def _graph_name(self) -> nodes.Expression:
        if self.token.kind in ("name", "string"):
            return nodes.Literal(self.advance().text)
        if self.token.kind == "bind" and not self.token.text.startswith("@"):
            return self._bind()
        raise self.unexpected()

    def _options(self) -> nodes.Expression | None:
        if not self.word("OPTIONS"):
            return None
        if not self.at("operator", "{"):
            raise self.unexpected()
        return self.expression()

    def _sort(self) -> nodes.Sort:
        keys: list[tuple[nodes.Expression, bool]] = []
        while True:
            key = self.expression()
            descending = self.accept("keyword", "DESC")
            if not descending:
                self.accept("keyword", "ASC")
            keys.append((key, descending))
            if not self.accept("operator", ","):
                return nodes.Sort(tuple(keys))

    def _limit(self) -> nodes.Limit:
        first = self.expression()
        if self.accept("operator", ","):
            return nodes.Limit(first, self.expression())
        return nodes.Limit(nodes.Literal(0), first)

    def _assignment(self) -> tuple[str, nodes.Expression]:
        name = self.name()
        self.expect("operator", "=")
        return name, self.expression()

    def _let(self) -> nodes.Let:
        name, value = self._assignment()
        return nodes.Let(self.declare(name), value)

    def _collect(self) -> nodes.Collect:
        groups: list[tuple[str, nodes.Expression]] = []
        aggregates: list[tuple[str, str, nodes.Expression]] = []
        into: str | None = None
        into_value: nodes.Expression | None = None
        count_into: str | None = None
        if self.token.kind == "name":
            groups = self._assignments()
        if self.accept("keyword", "AGGREGATE"):
            aggregates = [(name, *self._aggregate(call)) for name, call in self._assignments()]
        if self.accept("keyword", "WITH"):
            if aggregates or not self.word("COUNT"):
                raise self.unexpected()
            self.expect("keyword", "INTO")
            count_into = self.name()
        elif self.accept("keyword", "INTO"):
            into = self.name()
            into_value = self.expression() if self.accept("operator", "=") else None
        if not (groups or aggregates or count_into):
            raise self.unexpected()
        if self.token.kind == "name" and self.token.text.upper() in ("KEEP", "OPTIONS"):
            raise syntax_error(f"{self.token.text} after COLLECT is outside the subset", self.token.position)
        scope = tuple(self.scopes[-1])
        # COLLECT ends the life of the variables before it
        self.scopes[-1].clear()
        names = [name for name, _ in groups] + [name for name, _, _ in aggregates]
        for name in [*names, *filter(None, (into, count_into))]:
            self.declare(name)
        return nodes.Collect(tuple(groups), tuple(aggregates), into, into_value, count_into, scope)

    def _assignments(self) -> list[tuple[str, nodes.Expression]]:
        assignments = [self._assignment()]
        while self.accept("operator", ","):
            assignments.append(self._assignment())
        return assignments

    def _aggregate(self, call: nodes.Expression) -> tuple[str, nodes.Expression]:
        if not (isinstance(call, nodes.Call) and call.function in AGGREGATE_FUNCTIONS and len(call.arguments) == 1):
            raise ServerError(1574, "AQL: invalid aggregate expression (while parsing)")
        return call.function, call.arguments[0]

    def _declare_results(self, *names: str) -> None:
        for name in names:
            self.scopes[-1][name] = None

    def _target(self, *keywords: str) -> nodes.CollectionName:
        if self.token.kind != "keyword" or self.token.text not in keywords:
            raise self.unexpected()
        self.advance()
        return self.collection()

    def _insert(self) -> nodes.Insert:
        document = self.expression()
        collection = self._target("INTO", "IN")
        options = self._options()
        self._declare_results("NEW", "OLD")
        return nodes.Insert(document, collection, options)

    def _change(self, *, replace: bool) -> nodes.Change:
        # the loosest operator but IN, which here introduces the collection
        key = self.expression(minimum=6)
        self.expect("keyword", "WITH")
        document = self.expression(minimum=6)
        collection = self._target("IN", "INTO")
        options = self._options()
        self._declare_results("NEW", "OLD")
        return nodes.Change(key, document, collection, options, replace)

    def _remove(self) -> nodes.Remove:
        key = self.expression(minimum=6)
        collection = self._target("IN", "INTO")
        options = self._options()
        self._declare_results("OLD")
        return nodes.Remove(key, collection, options)

    def _upsert(self) -> nodes.Upsert:
        search = self.expression()
        fixed = isinstance(search, nodes.ObjectLiteral) and all(
            isinstance(name, nodes.Literal) for name, _ in search.members
        )
        if not isinstance(search, nodes.ObjectLiteral) or not search.members or not fixed:
            raise syntax_error("UPSERT looks up by an object literal without dynamic names", self.token.position)
        self.expect("keyword", "INSERT")
        insert = self.expression()
        self.expect("keyword", "UPDATE")
        self._declare_results("OLD")
        update = self.expression(minimum=6)
        collection = self._target("IN", "INTO")
        options = self._options()
        self._declare_results("NEW")
        return nodes.Upsert(search, insert, update, collection, options)


@lru_cache(maxsize=2_000)
def parse(query: str) -> nodes.Query:
    """Parse a query.

    Raises:
        ServerError: 1501 for a syntax error or a construct outside the subset; 1502, 1511, 1512, 1574.
    """
    return _QueryParser(query).whole()
