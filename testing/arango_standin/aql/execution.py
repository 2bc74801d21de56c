"""The state of one running query."""

from __future__ import annotations

from typing import Any

from ..database.errors import ServerError
from ..database.store import Collection, Database, Document
from ..database.transactions import Transaction
from ..database.values import identity_key
from . import nodes

Row = dict[str, Any]


class Execution:
    """One running query.

    Args:
        binds: Values of the bind variables.
        declared: Names of the collections after WITH.
        fail_on_warning: Whether a warning fails the query.

    Attributes:
        warnings: As the reply lists them.
        writes_executed, writes_ignored: Statistics of the reply.
    """

    def __init__(
        self,
        database: Database,
        transaction: Transaction,
        binds: dict[str, Any],
        declared: frozenset[str],
        *,
        fail_on_warning: bool = False,
    ) -> None:
        self.database = database
        self.transaction = transaction
        self.binds = binds
        self.declared = declared
        self.warnings: list[dict[str, Any]] = []
        self.writes_executed = 0
        self.writes_ignored = 0
        self._fail_on_warning = fail_on_warning
        self._members: dict[str, frozenset[Any] | None] = {}

    def warn(self, number: int, message: str) -> None:
        """Add a warning, or fail where the query asked for that."""
        if self._fail_on_warning:
            raise ServerError(number, f"AQL: {message}")
        self.warnings.append({"code": number, "message": message})

    def members_of_bind(self, name: str) -> frozenset[Any] | None:
        """Identity keys of the members of a bind variable's array, None where it is no array."""
        if name not in self._members:
            value = self.binds[name]
            self._members[name] = frozenset(map(identity_key, value)) if isinstance(value, list) else None
        return self._members[name]

    def name_of(self, node: nodes.CollectionName) -> str:
        """The name of a collection in the query."""
        return node.name if node.name is not None else str(self.binds[str(node.bind)])

    def collection(self, node: nodes.CollectionName) -> Collection:
        """A collection in the query."""
        return self.database.collection(self.name_of(node))

    def scan(self, name: str) -> list[Document]:
        """All documents of a collection, in no meaningful order."""
        self.transaction.check_read(name)
        return self.transaction.scan(self.database.collection(name))

    def lookup(self, identifier: str) -> Document | None:
        """A document by `collection/key`.

        Raises:
            ServerError: 1203, 1652.
        """
        name, _, key = identifier.partition("/")
        self.transaction.check_read(name)
        return self.transaction.get(self.database.collection(name), key)

    def document(self, identifier: str) -> Document | None:
        """What the function DOCUMENT reads: a missing document or collection gives None and a warning."""
        name = identifier.partition("/")[0]
        found = self.lookup(identifier) if name in self.database.collections else None
        if found is None:
            self.warn(1202, f"document not found: {identifier}")
        return found
