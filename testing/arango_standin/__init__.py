"""A stand-in for an ArangoDB server, for tests of the adapter only.

It answers AQL of the adapter's subset by its documented semantics, over HTTP: values and their order, missing
attributes, the operations, traversals, stream transactions with snapshots and write conflicts, error numbers and
statuses. It says nothing about a real server's query plans or locks, nor about speed, memory or durability: every query
runs alone and reads all documents, and nothing outlives the process.

It was written from the manual, not from the adapter, and is strict. Whatever lies outside the subset fails. Scans come
in no useful order. Stricter than a single server, it also refuses a traversal whose vertex collections are not named
after WITH (the rule of a cluster, 1521), and a read of a collection that a stream transaction did not declare (1652; a
server refuses that only with `allowImplicit: false`). Looser than a server: the order of strings approximates ICU's
(`collation`), and a write that meets another's lock fails at once (1200) where a server may wait a moment.
"""

from .server import ArangoStandIn

__all__ = ["ArangoStandIn"]
