"""The schema of the embedded system of record, as numbered append-only migrations (DESIGN §7, STYLE §11).

A migration that was released is never changed: a new one is added at the end.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Migration:
    """One step of the schema; its number is its place in `MIGRATIONS`, counted from 1.

    Besides what SQLite knows, a statement may call `microseconds`: a time in ISO 8601 as microseconds since the epoch;
    `comparable`: a text in the form in which it is compared; and `fact_of`: the JSON of a typed memory as that of a
    fact.
    """

    name: str
    statements: tuple[str, ...]


MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        "raw log",
        (
            # AUTOINCREMENT: a number of the log is never given twice, not even after erasure.
            """CREATE TABLE resources (
                sequence INTEGER PRIMARY KEY AUTOINCREMENT,
                user_id TEXT NOT NULL,
                resource_id TEXT NOT NULL,
                session_id TEXT NOT NULL,
                learned INTEGER NOT NULL,
                body TEXT NOT NULL,
                UNIQUE (user_id, resource_id)
            )""",
            "CREATE INDEX resources_by_session ON resources (user_id, session_id, sequence)",
            "CREATE INDEX resources_unlearned ON resources (sequence) WHERE learned = 0",
            "CREATE INDEX resources_unlearned_by_user ON resources (user_id, sequence) WHERE learned = 0",
        ),
    ),
    Migration(
        "entities, memories and the outbox",
        (
            """CREATE TABLE entities (
                user_id TEXT NOT NULL,
                entity_id TEXT NOT NULL,
                status TEXT NOT NULL,
                last_mentioned_us INTEGER NOT NULL,
                body TEXT NOT NULL,
                PRIMARY KEY (user_id, entity_id)
            )""",
            "CREATE INDEX entities_recent ON entities (user_id, status, last_mentioned_us)",
            """CREATE TABLE names (
                user_id TEXT NOT NULL,
                name TEXT NOT NULL,
                entity_id TEXT NOT NULL,
                rank INTEGER NOT NULL,
                head TEXT NOT NULL,
                prefix TEXT NOT NULL,
                PRIMARY KEY (user_id, name, entity_id)
            ) WITHOUT ROWID""",
            "CREATE INDEX names_by_entity ON names (user_id, entity_id)",
            "CREATE INDEX names_by_head ON names (user_id, head)",
            "CREATE INDEX names_by_prefix ON names (user_id, prefix)",
            """CREATE TABLE memories (
                user_id TEXT NOT NULL,
                memory_id TEXT NOT NULL,
                session_id TEXT NOT NULL,
                created_us INTEGER NOT NULL,
                body TEXT NOT NULL,
                PRIMARY KEY (user_id, memory_id)
            )""",
            "CREATE INDEX memories_recent ON memories (user_id, created_us)",
            "CREATE INDEX memories_by_session ON memories (user_id, session_id, created_us)",
            # AUTOINCREMENT: an old acknowledgement never fits an item that was saved again.
            """CREATE TABLE outbox (
                sequence INTEGER PRIMARY KEY AUTOINCREMENT,
                user_id TEXT NOT NULL,
                collection TEXT NOT NULL,
                item_id TEXT NOT NULL,
                UNIQUE (user_id, collection, item_id)
            )""",
            "CREATE INDEX outbox_by_user ON outbox (user_id, sequence)",
        ),
    ),
    Migration(
        "what the log and the memories are searched by",
        (
            "ALTER TABLE resources ADD COLUMN kind TEXT NOT NULL DEFAULT ''",
            "ALTER TABLE resources ADD COLUMN created_us INTEGER NOT NULL DEFAULT 0",
            """UPDATE resources SET
                kind = json_extract(body, '$.kind'), created_us = microseconds(json_extract(body, '$.created_at'))""",
            "CREATE INDEX resources_latest ON resources (user_id, sequence, kind, created_us)",
            "ALTER TABLE memories ADD COLUMN resource_id TEXT NOT NULL DEFAULT ''",
            "UPDATE memories SET resource_id = json_extract(body, '$.resource_id')",
            "CREATE INDEX memories_by_resource ON memories (user_id, resource_id)",
        ),
    ),
    Migration(
        "relations",
        (
            """CREATE TABLE relations (
                user_id TEXT NOT NULL,
                relation_id TEXT NOT NULL,
                source_id TEXT NOT NULL,
                target_id TEXT NOT NULL,
                confidence REAL NOT NULL,
                body TEXT NOT NULL,
                PRIMARY KEY (user_id, relation_id)
            )""",
            # In the order in which an entity's relations are listed, and with all that a walk reads.
            """CREATE INDEX relations_by_source
                ON relations (user_id, source_id, confidence DESC, relation_id, target_id)""",
            """CREATE INDEX relations_by_target
                ON relations (user_id, target_id, confidence DESC, relation_id, source_id)""",
        ),
    ),
    Migration(
        "facts, categories and their graph",
        (
            # subject, predicate and object are in the form in which they are compared; the body has their spelling.
            """CREATE TABLE facts (
                user_id TEXT NOT NULL,
                fact_id TEXT NOT NULL,
                resource_id TEXT NOT NULL,
                subject TEXT NOT NULL,
                predicate TEXT NOT NULL,
                object TEXT NOT NULL,
                category TEXT NOT NULL,
                confidence REAL NOT NULL,
                status TEXT NOT NULL,
                supersedes TEXT,
                recorded_us INTEGER NOT NULL,
                body TEXT NOT NULL,
                PRIMARY KEY (user_id, fact_id)
            )""",
            "CREATE INDEX facts_latest ON facts (user_id, status, recorded_us DESC, fact_id)",
            "CREATE INDEX facts_by_category ON facts (user_id, category, status, recorded_us DESC, fact_id)",
            "CREATE INDEX facts_by_content ON facts (user_id, status, subject, predicate, object)",
            "CREATE INDEX facts_by_resource ON facts (user_id, resource_id)",
            "CREATE INDEX facts_superseding ON facts (user_id, supersedes) WHERE supersedes IS NOT NULL",
            """CREATE TABLE categories (
                user_id TEXT NOT NULL,
                category_id TEXT NOT NULL,
                name TEXT NOT NULL,
                body TEXT NOT NULL,
                PRIMARY KEY (user_id, category_id),
                UNIQUE (user_id, name)
            )""",
            """CREATE TABLE category_accesses (
                user_id TEXT NOT NULL,
                access_id TEXT NOT NULL,
                category TEXT NOT NULL,
                accessed_us INTEGER NOT NULL,
                source TEXT NOT NULL,
                PRIMARY KEY (user_id, access_id)
            )""",
            "CREATE INDEX category_accesses_by_category ON category_accesses (user_id, category, accessed_us)",
            # subject, predicate and object as for facts.
            """CREATE TABLE edges (
                user_id TEXT NOT NULL,
                edge_id TEXT NOT NULL,
                subject TEXT NOT NULL,
                predicate TEXT NOT NULL,
                object TEXT NOT NULL,
                weight REAL NOT NULL,
                body TEXT NOT NULL,
                PRIMARY KEY (user_id, edge_id),
                UNIQUE (user_id, subject, predicate, object)
            )""",
            "CREATE INDEX edges_by_object ON edges (user_id, object, subject)",
        ),
    ),
    Migration(
        "changes that can be undone",
        (
            """CREATE TABLE changes (
                sequence INTEGER PRIMARY KEY AUTOINCREMENT,
                user_id TEXT NOT NULL,
                change_id TEXT NOT NULL,
                kind TEXT NOT NULL,
                body TEXT NOT NULL,
                UNIQUE (user_id, change_id)
            )""",
            "CREATE INDEX changes_latest ON changes (user_id, sequence)",
            "CREATE INDEX changes_by_kind ON changes (user_id, kind, sequence)",
            """CREATE TABLE change_subjects (
                user_id TEXT NOT NULL,
                subject TEXT NOT NULL,
                sequence INTEGER NOT NULL,
                PRIMARY KEY (user_id, subject, sequence)
            ) WITHOUT ROWID""",
        ),
    ),
    Migration(
        "typed memories and runs of jobs",
        (
            """CREATE TABLE aam_memories (
                user_id TEXT NOT NULL,
                memory_id TEXT NOT NULL,
                entity_type TEXT NOT NULL,
                status TEXT NOT NULL,
                body TEXT NOT NULL,
                PRIMARY KEY (user_id, memory_id)
            )""",
            "CREATE INDEX aam_memories_by_type ON aam_memories (user_id, entity_type, memory_id)",
            "CREATE INDEX aam_memories_by_status ON aam_memories (user_id, status, memory_id)",
            # Of no user: what jobs did over everybody's memory.
            """CREATE TABLE runs (
                run_id TEXT PRIMARY KEY,
                pipeline TEXT NOT NULL,
                started_us INTEGER NOT NULL,
                body TEXT NOT NULL
            ) WITHOUT ROWID""",
            "CREATE INDEX runs_latest ON runs (pipeline, started_us, run_id)",
        ),
    ),
    Migration(
        "what was understood of log entries",
        ("ALTER TABLE resources ADD COLUMN understanding TEXT",),
    ),
    Migration(
        "API keys",
        (
            # Of no user: a key may belong to one.
            """CREATE TABLE api_keys (
                key_id TEXT PRIMARY KEY,
                app TEXT NOT NULL,
                user TEXT,
                version INTEGER NOT NULL,
                last_used_us INTEGER,
                body TEXT NOT NULL
            ) WITHOUT ROWID""",
        ),
    ),
    Migration(
        "typed memories are facts",
        (
            """INSERT OR IGNORE INTO facts (
                user_id, fact_id, resource_id, subject, predicate, object, category, confidence, status, supersedes,
                recorded_us, body
            )
            SELECT
                user_id, memory_id, '', comparable(json_extract(body, '$.subject')),
                comparable(json_extract(body, '$.predicate')), comparable(json_extract(body, '$.object')),
                json_extract(body, '$.category'), json_extract(body, '$.confidence'), json_extract(body, '$.status'),
                json_extract(body, '$.supersedes'), microseconds(json_extract(body, '$.recorded_at')), body
            FROM (SELECT user_id, memory_id, fact_of(body) AS body FROM aam_memories)""",
            "DROP TABLE aam_memories",
            "UPDATE OR IGNORE outbox SET collection = 'aam_entities' WHERE collection = 'ai_box_facts'",
            "DELETE FROM outbox WHERE collection = 'ai_box_facts'",
        ),
    ),
    Migration(
        "facts of a subject and predicate, latest first",
        ("CREATE INDEX facts_about ON facts (user_id, subject, predicate, recorded_us DESC, fact_id)",),
    ),
    Migration(
        "policies of retention",
        (
            # An app's own policy has an id that no user has.
            """CREATE TABLE retention_policies (
                user_id TEXT PRIMARY KEY,
                body TEXT NOT NULL
            ) WITHOUT ROWID""",
        ),
    ),
    Migration(
        "states, apps and leases of runs",
        (
            "ALTER TABLE runs ADD COLUMN state TEXT NOT NULL DEFAULT 'running'",
            "ALTER TABLE runs ADD COLUMN app TEXT",
            "ALTER TABLE runs ADD COLUMN duration_us INTEGER",
            "ALTER TABLE runs ADD COLUMN holder TEXT",
            "ALTER TABLE runs ADD COLUMN lease_us INTEGER",
            "ALTER TABLE runs ADD COLUMN cancel INTEGER NOT NULL DEFAULT 0",
            """UPDATE runs SET
                state = json_extract(body, '$.state'),
                duration_us = CASE WHEN json_extract(body, '$.ended_at') IS NOT NULL
                    THEN microseconds(json_extract(body, '$.ended_at')) - started_us END""",
            "CREATE INDEX runs_recorded ON runs (started_us, run_id)",
            "CREATE INDEX runs_by_state ON runs (state, started_us, run_id)",
            "CREATE INDEX runs_of_app ON runs (app, started_us, run_id)",
            # With all that counting reads.
            "CREATE INDEX runs_counted ON runs (pipeline, state, app, duration_us)",
        ),
    ),
    Migration(
        "corpora, sources and knowledge",
        (
            # The owner of an app's knowledge stands where a user does elsewhere.
            """CREATE TABLE corpora (
                user_id TEXT NOT NULL,
                corpus_id TEXT NOT NULL,
                name TEXT NOT NULL,
                body TEXT NOT NULL,
                PRIMARY KEY (user_id, corpus_id),
                UNIQUE (user_id, name)
            )""",
            """CREATE TABLE corpus_versions (
                user_id TEXT NOT NULL,
                corpus_id TEXT NOT NULL,
                version INTEGER NOT NULL,
                body TEXT NOT NULL,
                PRIMARY KEY (user_id, corpus_id, version)
            )""",
            """CREATE TABLE knowledge_sources (
                user_id TEXT NOT NULL,
                source_id TEXT NOT NULL,
                corpus_id TEXT NOT NULL,
                body TEXT NOT NULL,
                PRIMARY KEY (user_id, source_id)
            )""",
            "CREATE INDEX knowledge_sources_by_corpus ON knowledge_sources (user_id, corpus_id, source_id)",
            """CREATE TABLE source_versions (
                user_id TEXT NOT NULL,
                source_id TEXT NOT NULL,
                version INTEGER NOT NULL,
                state TEXT NOT NULL,
                body TEXT NOT NULL,
                content BLOB NOT NULL,
                PRIMARY KEY (user_id, source_id, version)
            )""",
            "CREATE INDEX source_versions_pending ON source_versions (state) WHERE state = 'pending'",
            """CREATE TABLE knowledge (
                user_id TEXT NOT NULL,
                knowledge_id TEXT NOT NULL,
                corpus_id TEXT NOT NULL,
                source_id TEXT NOT NULL,
                version INTEGER NOT NULL,
                chunk_index INTEGER NOT NULL,
                body TEXT NOT NULL,
                PRIMARY KEY (user_id, knowledge_id)
            )""",
            "CREATE INDEX knowledge_by_source ON knowledge (user_id, source_id, version, chunk_index, knowledge_id)",
            "CREATE INDEX knowledge_by_corpus ON knowledge (user_id, corpus_id)",
        ),
    ),
    Migration(
        "items",
        (
            """CREATE TABLE items (
                user_id TEXT NOT NULL,
                collection TEXT NOT NULL,
                path TEXT NOT NULL,
                key TEXT NOT NULL,
                updated_us INTEGER NOT NULL,
                expires_us INTEGER,
                body TEXT NOT NULL,
                PRIMARY KEY (user_id, collection, path, key)
            )""",
            "CREATE INDEX items_latest ON items (user_id, collection, updated_us DESC, path, key)",
            "CREATE INDEX items_expiring ON items (user_id, expires_us) WHERE expires_us IS NOT NULL",
        ),
    ),
    Migration(
        "knowledge graphs",
        (
            """CREATE TABLE knowledge_graphs (
                user_id TEXT NOT NULL,
                corpus_id TEXT NOT NULL,
                version INTEGER NOT NULL,
                body TEXT NOT NULL,
                PRIMARY KEY (user_id, corpus_id, version)
            ) WITHOUT ROWID""",
            """CREATE TABLE graph_members (
                user_id TEXT NOT NULL,
                corpus_id TEXT NOT NULL,
                version INTEGER NOT NULL,
                extraction_id TEXT NOT NULL,
                PRIMARY KEY (user_id, corpus_id, version, extraction_id)
            ) WITHOUT ROWID""",
            "CREATE INDEX graph_members_by_extraction ON graph_members (user_id, extraction_id)",
            """CREATE TABLE graph_extractions (
                user_id TEXT NOT NULL,
                extraction_id TEXT NOT NULL,
                corpus_id TEXT NOT NULL,
                source_id TEXT NOT NULL,
                body TEXT NOT NULL,
                PRIMARY KEY (user_id, extraction_id)
            ) WITHOUT ROWID""",
            "CREATE INDEX graph_extractions_by_source ON graph_extractions (user_id, source_id)",
            "CREATE INDEX graph_extractions_by_corpus ON graph_extractions (user_id, corpus_id)",
            """CREATE TABLE graph_mentions (
                user_id TEXT NOT NULL,
                corpus_id TEXT NOT NULL,
                node_id TEXT NOT NULL,
                knowledge_id TEXT NOT NULL,
                extraction_id TEXT NOT NULL,
                key TEXT NOT NULL,
                name TEXT NOT NULL,
                kind TEXT NOT NULL,
                count INTEGER NOT NULL,
                body TEXT NOT NULL,
                PRIMARY KEY (user_id, corpus_id, node_id, knowledge_id, extraction_id)
            ) WITHOUT ROWID""",
            "CREATE INDEX graph_mentions_by_key ON graph_mentions (user_id, corpus_id, key, node_id)",
            "CREATE INDEX graph_mentions_by_extraction ON graph_mentions (user_id, extraction_id)",
            """CREATE TABLE graph_links (
                user_id TEXT NOT NULL,
                corpus_id TEXT NOT NULL,
                edge_id TEXT NOT NULL,
                knowledge_id TEXT NOT NULL,
                extraction_id TEXT NOT NULL,
                source_node TEXT NOT NULL,
                target_node TEXT NOT NULL,
                type TEXT NOT NULL,
                strength INTEGER NOT NULL,
                body TEXT NOT NULL,
                PRIMARY KEY (user_id, corpus_id, edge_id, knowledge_id, extraction_id)
            ) WITHOUT ROWID""",
            "CREATE INDEX graph_links_by_source ON graph_links (user_id, corpus_id, source_node)",
            "CREATE INDEX graph_links_by_target ON graph_links (user_id, corpus_id, target_node)",
            "CREATE INDEX graph_links_by_extraction ON graph_links (user_id, extraction_id)",
        ),
    ),
    Migration(
        "the owner of a memory",
        ("CREATE INDEX memories_by_id ON memories (memory_id, user_id)",),
    ),
)
