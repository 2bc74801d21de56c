"""The schema in ArangoDB, as numbered append-only migrations (DESIGN §7, STYLE §11).

A migration that was released is never changed: a new one is added at the end. Its steps may be repeated, since
ArangoDB creates collections outside of transactions: one that was interrupted runs again as a whole. Written by hand:
no migration library supports ArangoDB.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from arango.client import ArangoClient
from arango.database import StandardDatabase
from arango.exceptions import ArangoServerError

from memory.values.base import utc_now
from memory.values.errors import StoreUnavailable

from . import queries as aql
from .client import ArangoSettings, rows_of
from .errors import COLLECTION_NOT_FOUND, DATABASE_NOT_FOUND, DUPLICATE_NAME, GRAPH_DUPLICATE, unavailable
from .facts import make_facts_of_typed_memories
from .runs import complete_runs

OLDEST_VERSION = (3, 11)

_FIRST_DOCUMENTS = (
    "users",
    "resources",
    "entities",
    "entity_names",
    "memories",
    "facts",
    "categories",
    "category_accesses",
    "graph_nodes",
    "outbox",
)
_KNOWLEDGE = ("corpora", "corpus_versions", "knowledge_sources", "source_versions", "knowledge")
_GRAPHS = ("knowledge_graphs", "graph_members", "graph_extractions", "graph_mentions", "graph_links")
_LATER_DOCUMENTS = ("changes", "change_subjects", "aam_memories", "runs", "api_keys", "retention_policies", "items")
DOCUMENTS = (*_FIRST_DOCUMENTS, *_LATER_DOCUMENTS, *_KNOWLEDGE, *_GRAPHS)
"""`aam_memories` is empty since typed memories are facts."""
EDGES = ("entity_relations", "graph_edges")
COLLECTIONS = (*DOCUMENTS, *EDGES)
"""The collections that a unit of work may read and write."""
USER_COLLECTIONS = tuple(name for name in COLLECTIONS if name not in ("runs", "api_keys"))
"""Those whose documents belong to users."""

Step = Callable[[StandardDatabase], object]


@dataclass(frozen=True)
class Migration:
    """Steps of the schema; its number is its place in `MIGRATIONS`, counted from 1."""

    name: str
    steps: tuple[Step, ...]


def _collection(name: str, *, edge: bool = False) -> Step:
    return lambda database: _unless(DUPLICATE_NAME, lambda: database.create_collection(name, edge=edge))


def _index(collection: str, *fields: str, unique: bool = False) -> Step:
    index = {
        "type": "persistent",
        "fields": list(fields),
        "unique": unique,
        "name": "by_" + "_".join(fields),
    }
    return lambda database: database.collection(collection).add_index(index)


def _graph(name: str, edges: str, vertices: str) -> Step:
    definition = {
        "edge_collection": edges,
        "from_vertex_collections": [vertices],
        "to_vertex_collections": [vertices],
    }
    return lambda database: _unless(GRAPH_DUPLICATE, lambda: database.create_graph(name, [definition]))


def _unless(code: int, work: Callable[[], object]) -> None:
    try:
        work()
    except ArangoServerError as error:
        if error.error_code != code:
            raise


MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        "raw log, entities, relations, memories, facts, graph and outbox",
        (
            *(_collection(name) for name in _FIRST_DOCUMENTS),
            *(_collection(name, edge=True) for name in EDGES),
            _graph("entity_graph", "entity_relations", "entities"),
            _graph("fact_graph", "graph_edges", "graph_nodes"),
            _index("users", "order", unique=True),
            _index("resources", "user_id", "session", "sequence"),
            _index("resources", "user_id", "sequence"),
            _index("resources", "user_id", "learned", "sequence"),
            _index("resources", "learned", "sequence", "user_id"),
            _index("entities", "user_id", "order"),
            _index("entities", "user_id", "status", "last_mentioned_us", "sequence"),
            _index("entity_names", "user_id", "name"),
            _index("entity_names", "user_id", "head"),
            _index("entity_names", "user_id", "prefix"),
            _index("entity_names", "user_id", "entity_key"),
            _index("memories", "user_id", "order"),
            _index("memories", "user_id", "created_us", "sequence"),
            _index("memories", "user_id", "session", "created_us", "sequence"),
            _index("memories", "user_id", "source"),
            _index("facts", "user_id", "order"),
            _index("facts", "user_id", "status", "recorded_us"),
            _index("facts", "user_id", "category", "status", "recorded_us"),
            _index("facts", "user_id", "says"),
            _index("facts", "user_id", "about"),
            _index("facts", "user_id", "subject", "recorded_us"),
            _index("facts", "user_id", "supersedes"),
            _index("facts", "user_id", "source"),
            _index("categories", "user_id", "order", unique=True),
            _index("category_accesses", "user_id", "category", "accessed_us"),
            _index("outbox", "user_id", "sequence"),
            _index("outbox", "sequence", "user_id"),
            _index("graph_nodes", "user_id", "order"),
            *(
                index
                for edges in EDGES
                for index in (
                    _index(edges, "_from", "user_id"),
                    _index(edges, "_to", "user_id"),
                    _index(edges, "user_id", "order"),
                )
            ),
        ),
    ),
    Migration(
        "changes that can be undone",
        (
            _collection("changes"),
            _collection("change_subjects"),
            _index("changes", "user_id", "sequence"),
            _index("changes", "user_id", "kind", "sequence"),
            _index("change_subjects", "user_id", "subject", "sequence"),
        ),
    ),
    Migration(
        "typed memories and runs of jobs",
        (
            _collection("aam_memories"),
            _collection("runs"),
            _index("aam_memories", "user_id", "order"),
            _index("aam_memories", "user_id", "type", "order"),
            _index("aam_memories", "user_id", "status", "order"),
            _index("runs", "pipeline", "started_us"),
        ),
    ),
    # In the body of a log entry, which needs no step; the number keeps builds that cannot read it from the database.
    Migration("what was understood of log entries", ()),
    Migration("API keys", (_collection("api_keys"), _index("api_keys", "order"))),
    Migration("typed memories are facts", (make_facts_of_typed_memories,)),
    Migration("policies of retention", (_collection("retention_policies"), _index("retention_policies", "user_id"))),
    Migration(
        "states, apps and leases of runs",
        (
            complete_runs,
            _index("runs", "started_us", "order"),
            _index("runs", "state", "started_us"),
            _index("runs", "app", "started_us"),
        ),
    ),
    Migration(
        "corpora, sources and knowledge",
        (
            *(_collection(name) for name in _KNOWLEDGE),
            _index("corpora", "user_id", "order"),
            _index("corpus_versions", "user_id", "corpus"),
            _index("knowledge_sources", "user_id", "corpus", "order"),
            _index("source_versions", "user_id", "source"),
            _index("source_versions", "state"),
            _index("knowledge", "user_id", "order"),
            _index("knowledge", "user_id", "source", "version", "chunk_index"),
            _index("knowledge", "user_id", "corpus"),
        ),
    ),
    Migration(
        "items",
        (
            _collection("items"),
            _index("items", "user_id", "collection", "order"),
            _index("items", "user_id", "collection", "updated_us"),
            _index("items", "user_id", "expires_us"),
        ),
    ),
    Migration(
        "knowledge graphs",
        (
            *(_collection(name) for name in _GRAPHS),
            _index("knowledge_graphs", "user_id", "corpus", "version"),
            _index("graph_members", "user_id", "place", "extraction"),
            _index("graph_members", "user_id", "extraction"),
            _index("graph_members", "user_id", "corpus"),
            _index("graph_extractions", "user_id", "corpus"),
            _index("graph_extractions", "user_id", "source"),
            _index("graph_mentions", "user_id", "corpus", "node"),
            _index("graph_mentions", "user_id", "corpus", "key"),
            _index("graph_mentions", "user_id", "extraction"),
            _index("graph_links", "user_id", "corpus", "edge"),
            _index("graph_links", "user_id", "corpus", "source"),
            _index("graph_links", "user_id", "corpus", "target"),
            _index("graph_links", "user_id", "extraction"),
        ),
    ),
    Migration("the owner of a memory", (_index("memories", "order", "user_id"),)),
)


def prepare(client: ArangoClient, settings: ArangoSettings) -> StandardDatabase:
    """Connects to the database, creating and migrating it; several processes may do so at once.

    Raises:
        StoreUnavailable: The server or the database is of a version that does not fit.
        ArangoServerError: The server refuses, because of the password for example.
    """
    database = client.db(settings.database, username=settings.username, password=settings.password)
    try:
        version = _version(database)
    except ArangoServerError as error:
        if error.error_code != DATABASE_NOT_FOUND:
            raise
        system = client.db("_system", username=settings.username, password=settings.password)
        _require_version(_version(system))
        _unless(DUPLICATE_NAME, lambda: system.create_database(settings.database))
    else:
        _require_version(version)
    migrate(database, deadline_s=settings.deadline_s)
    return database


def migrate(database: StandardDatabase, *, deadline_s: float, migrations: tuple[Migration, ...] = MIGRATIONS) -> None:
    """Brings the schema up to date, while no other process does.

    Args:
        database: The database, which exists.
        deadline_s: How long to wait for another process that migrates, and for a statement.
        migrations: All steps there are, in order.

    Raises:
        StoreUnavailable: The database is from another version of Jiyi.
    """
    if len(_applied(database, migrations, deadline_s)) == len(migrations):
        return
    _unless(DUPLICATE_NAME, lambda: database.create_collection("migrations"))
    # The exclusive lock outlives no process: ArangoDB gives a transaction up that idles.
    transaction = database.begin_transaction(exclusive=["migrations"], lock_timeout=math.ceil(deadline_s))
    try:
        applied = _applied(transaction, migrations, deadline_s)
        for number, migration in enumerate(migrations, start=1):
            if number not in applied:
                for step in migration.steps:
                    step(database)
                record = {"_key": str(number), "number": number, "name": migration.name, "at": utc_now().isoformat()}
                rows_of(transaction, aql.ADD_MIGRATION, {"record": record}, deadline_s=deadline_s)
        transaction.commit_transaction()
    except BaseException:
        with suppress(ArangoServerError, StoreUnavailable):
            transaction.abort_transaction()
        raise


def _version(database: StandardDatabase) -> str:
    try:
        return str(database.version())
    except (KeyError, TypeError) as error:
        raise unavailable("what answers does not speak ArangoDB's protocol") from error


def _require_version(version: str) -> None:
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    if numbers < OLDEST_VERSION:
        oldest = ".".join(map(str, OLDEST_VERSION))
        raise unavailable(f"ArangoDB {version} is too old, Jiyi needs {oldest} or later")


def _applied(database: Any, migrations: tuple[Migration, ...], deadline_s: float) -> dict[int, str]:
    try:
        applied = {
            int(number): str(name) for number, name in rows_of(database, aql.MIGRATIONS, {}, deadline_s=deadline_s)
        }
    except ArangoServerError as error:
        if error.error_code != COLLECTION_NOT_FOUND:
            raise
        return {}
    known = {number: migration.name for number, migration in enumerate(migrations, start=1)}
    foreign = {number: name for number, name in applied.items() if known.get(number) != name}
    if foreign:
        raise unavailable(
            f"the database was written by another version of Jiyi: it holds the migrations {foreign}, this version"
            f" knows {len(migrations)}; install that version, or restore an older copy"
        )
    return applied
