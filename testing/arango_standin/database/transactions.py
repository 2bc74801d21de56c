"""Transactions: snapshot isolation and write-write conflicts (manual, "Transactions", "Locking and isolation").

A transaction sees what was committed when it began, and its own writes. It fails at once (1200) where it writes a
document that another open transaction wrote, or that changed after it began. A query outside a stream transaction runs
in one of its own. What a failed query wrote before its error stays in its stream transaction: only an abort undoes it.
"""

from __future__ import annotations

import time
from typing import Any

from .errors import ServerError
from .store import Collection, Database, Document, check_key, scan_position, tick

_SYSTEM = ("_key", "_id", "_rev")


class Transaction:
    """A running transaction; made by `Transactions.begin`.

    Args:
        reads: Names of the collections it may read, None for all.
        writes: Names of the collections that it may write (and read), None for all.
        exclusive: Those of `writes` that it shares with no other writer.
        implicit_reads: Whether it may also read collections that it did not declare.
    """

    def __init__(
        self,
        manager: Transactions,
        reads: frozenset[str] | None,
        writes: frozenset[str] | None,
        exclusive: frozenset[str] = frozenset(),
        *,
        implicit_reads: bool = False,
    ) -> None:
        self.id = tick()
        self.reads = reads
        self.writes = writes
        self.exclusive = exclusive
        self.used_at_s = time.monotonic()
        self._implicit_reads = implicit_reads
        self._manager = manager
        self._began = manager.commits
        self._snapshot = {name: collection.documents for name, collection in manager.database.collections.items()}
        self._written: dict[str, dict[str, Document | None]] = {}
        self.locks: set[tuple[Any, ...]] = set()
        # for each unique index (collection, id): the owners of values as this transaction leaves them
        self._owners: dict[tuple[str, str], dict[tuple[Any, ...], str]] = {}

    def check_read(self, name: str) -> None:
        """Refuse to read a collection that was not declared (1652)."""
        if (
            self.reads is not None
            and not self._implicit_reads
            and name not in self.reads | (self.writes or frozenset())
        ):
            raise ServerError(1652, f"unregistered collection used in transaction: {name} [read]")

    def check_write(self, name: str) -> None:
        """Refuse to write a collection that was not declared for writing (1652)."""
        if self.writes is not None and name not in self.writes:
            raise ServerError(1652, f"unregistered collection used in transaction: {name} [write]")

    def get(self, collection: Collection, key: str) -> Document | None:
        """A document as this transaction sees it."""
        written = self._written.get(collection.name)
        if written is not None and key in written:
            return written[key]
        return self._base(collection).get(key)

    def scan(self, collection: Collection) -> list[Document]:
        """All documents of a collection, in no meaningful order."""
        documents = {**self._base(collection), **self._written.get(collection.name, {})}
        return [document for key in sorted(documents, key=scan_position) if (document := documents[key]) is not None]

    def insert(self, collection: Collection, document: Any, mode: str) -> tuple[Document | None, Document | None]:
        """Insert a document.

        Args:
            mode: What to do where the key exists: "conflict", "ignore", "replace" or "update".

        Returns:
            The document before, where one was overwritten, and the new one; None for the new one where it was ignored.

        Raises:
            ServerError: 1200, 1210, 1221, 1227, 1233.
        """
        if not isinstance(document, dict):
            raise ServerError(1227, "invalid document type")
        key = check_key(document["_key"]) if "_key" in document else tick()
        old = self.get(collection, key)
        if old is None:
            return None, self._put(collection, key, document)
        if mode == "ignore":
            return None, None
        if mode == "conflict":
            raise _unique_violation("primary", "primary", "_key", key)
        return old, self.change(collection, key, document, replace=mode == "replace")[1]

    def change(
        self,
        collection: Collection,
        key: str,
        patch: Any,
        *,
        replace: bool,
        keep_null: bool = True,
        merge_objects: bool = True,
    ) -> tuple[Document, Document]:
        """Update or replace a document.

        Returns:
            The document before and after.

        Raises:
            ServerError: 1200, 1202, 1210, 1227, 1233.
        """
        if not isinstance(patch, dict):
            raise ServerError(1227, "invalid document type")
        old = self._existing(collection, key)
        document = patch if replace else _merged(old, patch, keep_null, merge_objects)
        return old, self._put(collection, key, document)

    def remove(self, collection: Collection, key: str) -> Document:
        """Remove a document and return it.

        Raises:
            ServerError: 1200, 1202.
        """
        old = self._existing(collection, key)
        self._set(collection, key, None)
        return old

    def commit(self) -> None:
        """Make the writes visible to what begins from now on."""
        self._manager.commits += 1
        for name, written in self._written.items():
            collection = self._manager.database.collections.get(name)
            if collection is None:
                continue
            if self._manager.others_open(self):
                collection.documents = dict(collection.documents)
            for index in (index for index in collection.indexes if index.unique):
                for key in written:
                    before = collection.documents.get(key)
                    value = index.value(before) if before is not None else None
                    if value is not None and index.owners.get(value) == key:
                        del index.owners[value]
                index.owners.update(self._owners.get((name, index.id), {}))
            for key, document in written.items():
                collection.changed[key] = self._manager.commits
                if document is None:
                    collection.documents.pop(key, None)
                else:
                    collection.documents[key] = document

    def _base(self, collection: Collection) -> dict[str, Document]:
        return self._snapshot.get(collection.name, collection.documents)

    def _existing(self, collection: Collection, key: str) -> Document:
        old = self.get(collection, key)
        if old is None:
            # one that came after the snapshot is a conflict, not a missing one
            if collection.changed.get(key, 0) > self._began:
                raise _conflict(collection.name, key)
            raise ServerError(1202, f"document not found: {collection.name}/{key}")
        return old

    def _put(self, collection: Collection, key: str, content: Document) -> Document:
        document = {"_key": key, "_id": f"{collection.name}/{key}", "_rev": f"_{tick()}"}
        if collection.edge:
            for name in ("_from", "_to"):
                end = content.get(name)
                if not isinstance(end, str) or not all(end.partition("/")):
                    raise ServerError(1233, f"edge attribute missing or invalid: {name}")
                document[name] = end
        document.update((name, value) for name, value in content.items() if name not in _SYSTEM)
        self._set(collection, key, document)
        return document

    def _set(self, collection: Collection, key: str, document: Document | None) -> None:
        self._lock(collection, key)
        old = self.get(collection, key)
        for index in (index for index in collection.indexes if index.unique):
            owners = self._owners.setdefault((collection.name, index.id), {})
            before = index.value(old) if old is not None else None
            after = index.value(document) if document is not None else None
            if after is not None and after != before:
                self._check_unique(collection, index.id, after, key)
                owners[after] = key
            elif after is not None:
                owners[after] = key
            if before is not None and before != after and owners.get(before) == key:
                del owners[before]
        self._written.setdefault(collection.name, {})[key] = document

    def _check_unique(self, collection: Collection, index_id: str, value: tuple[Any, ...], key: str) -> None:
        index = next(index for index in collection.indexes if index.id == index_id)
        self._acquire((collection.name, index.id, value))
        owner = self._owners[collection.name, index.id].get(value)
        if owner is None:
            owner = index.owners.get(value)
            if owner is not None and owner in self._written.get(collection.name, {}):
                # this transaction took the value from its committed owner, or removed it
                return
        if owner is not None and owner != key:
            if collection.changed.get(owner, 0) > self._began:
                raise _conflict(collection.name, owner)
            raise _unique_violation(index.name, "persistent", ", ".join(index.fields), owner)

    def _lock(self, collection: Collection, key: str) -> None:
        self._acquire((collection.name, key))
        if collection.changed.get(key, 0) > self._began:
            raise _conflict(collection.name, key)

    def _acquire(self, lock: tuple[Any, ...]) -> None:
        if lock not in self.locks:
            if self._manager.locked_by_another(self, lock):
                raise _conflict(str(lock[0]), str(lock[1]))
            self.locks.add(lock)


def _conflict(collection: str, key: str) -> ServerError:
    return ServerError(1200, f"write-write conflict; key: {key} in collection {collection}")


def _unique_violation(name: str, kind: str, fields: str, key: str) -> ServerError:
    return ServerError(
        1210, f"unique constraint violated - in index {name} of type {kind} over '{fields}'; conflicting key: {key}"
    )


def _merged(old: Document, patch: Document, keep_null: bool, merge_objects: bool) -> Document:
    """UPDATE's result: attributes of sub-objects are merged too, unless turned off."""
    merged = dict(old)
    for name, value in patch.items():
        if value is None and not keep_null:
            merged.pop(name, None)
        elif merge_objects and isinstance(value, dict) and isinstance(merged.get(name), dict):
            merged[name] = _merged(merged[name], value, keep_null, merge_objects)
        else:
            merged[name] = value
    return merged


class Transactions:
    """The transactions of one database. Not thread-safe: the server calls it under its lock.

    Attributes:
        commits: Number of commits so far.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self.commits = 0
        self._open: dict[str, Transaction] = {}
        self._finished: dict[str, str] = {}

    def begin(
        self,
        reads: frozenset[str] | None,
        writes: frozenset[str] | None,
        exclusive: frozenset[str] = frozenset(),
        *,
        implicit_reads: bool = False,
    ) -> Transaction:
        """Begin a transaction on the present state."""
        transaction = Transaction(self, reads, writes, exclusive, implicit_reads=implicit_reads)
        self._open[transaction.id] = transaction
        return transaction

    def blocked(self, writes: frozenset[str], exclusive: frozenset[str], but: Transaction | None = None) -> bool:
        """Whether an open transaction's locks on whole collections keep another from writing these."""
        return any(
            writes & other.exclusive or exclusive & (other.writes or frozenset())
            for other in self._open.values()
            if other is not but
        )

    def get(self, number: str) -> Transaction:
        """An open transaction, used now.

        Raises:
            ServerError: 1655, also for one that was committed, aborted or expired.
        """
        transaction = self._open.get(number)
        if transaction is None:
            raise ServerError(1655, f"transaction '{number}' not found")
        transaction.used_at_s = time.monotonic()
        return transaction

    def status(self, number: str) -> str:
        """ "running", "committed" or "aborted"."""
        if number in self._open:
            return "running"
        if number not in self._finished:
            raise ServerError(1655, f"transaction '{number}' not found")
        return self._finished[number]

    def finish(self, number: str, status: str) -> None:
        """End a transaction as "committed" or "aborted"; ending it again in the same way does nothing.

        Raises:
            ServerError: 1653 where it ended in the other way, 1655 where it never was.
        """
        before = self.status(number)
        if before == status:
            return
        if before != "running":
            raise ServerError(1653, f"transaction was already {before}")
        transaction = self._open[number]
        if status == "committed":
            transaction.commit()
        del self._open[number]
        self._finished[number] = status

    def forget(self, transaction: Transaction) -> None:
        """End a query's own transaction, of which nobody knows the number."""
        del self._open[transaction.id]

    def expire(self, idle_s: float) -> None:
        """Abort what was not used for a time."""
        now = time.monotonic()
        for number in [number for number, open_ in self._open.items() if now - open_.used_at_s > idle_s]:
            self.finish(number, "aborted")

    def running(self) -> list[str]:
        """Numbers of open transactions."""
        return list(self._open)

    def others_open(self, transaction: Transaction) -> bool:
        """Whether another transaction still reads an older snapshot."""
        return any(other is not transaction for other in self._open.values())

    def locked_by_another(self, transaction: Transaction, lock: tuple[Any, ...]) -> bool:
        """Whether another open transaction wrote this document or unique value."""
        return any(lock in other.locks for other in self._open.values() if other is not transaction)
