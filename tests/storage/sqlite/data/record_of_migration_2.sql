BEGIN TRANSACTION;
CREATE TABLE entities (
                user_id TEXT NOT NULL,
                entity_id TEXT NOT NULL,
                status TEXT NOT NULL,
                last_mentioned_us INTEGER NOT NULL,
                body TEXT NOT NULL,
                PRIMARY KEY (user_id, entity_id)
            );
INSERT INTO "entities" VALUES('ann','e1','active',1772366400000000,'{"entity_id":"e1","user_id":"ann","entity_value":"宏康 HCI","normalised_value":"宏康hci","aliases":["鴻康"],"entity_type":"entity_noun","subtype":null,"confidence":1.0,"status":"active","source":"conversation","first_mentioned":"2026-03-01T12:00:00Z","last_mentioned":"2026-03-01T12:00:00Z","mention_count":0,"access_count":0,"attributes":{},"related_entities":[],"version":1}');
INSERT INTO "entities" VALUES('王小明','e1','active',1772366400000000,'{"entity_id":"e1","user_id":"王小明","entity_value":"宏康 HCI","normalised_value":"宏康hci","aliases":["鴻康"],"entity_type":"entity_noun","subtype":null,"confidence":1.0,"status":"active","source":"conversation","first_mentioned":"2026-03-01T12:00:00Z","last_mentioned":"2026-03-01T12:00:00Z","mention_count":0,"access_count":0,"attributes":{},"related_entities":[],"version":1}');
CREATE TABLE memories (
                user_id TEXT NOT NULL,
                memory_id TEXT NOT NULL,
                session_id TEXT NOT NULL,
                created_us INTEGER NOT NULL,
                body TEXT NOT NULL,
                PRIMARY KEY (user_id, memory_id)
            );
INSERT INTO "memories" VALUES('ann','f5bf114b-4fcf-5233-8ef9-104b7c9d3351','s',1772366400000000,'{"memory_id":"f5bf114b-4fcf-5233-8ef9-104b7c9d3351","user_id":"ann","session_id":"s","resource_id":"r1","kind":"turn","role":"user","speaker":null,"text":"我住在台北。It''s 100%_\u0000","context":null,"entity_ids":["e1"],"metadata":{},"confidence":1.0,"access_count":0,"last_accessed_at":null,"created_at":"2026-03-01T12:00:00Z","updated_at":"2026-03-01T12:00:00Z"}');
INSERT INTO "memories" VALUES('王小明','be72a9a8-b4a2-555e-917a-4a74cf3b880e','s',1772366400000000,'{"memory_id":"be72a9a8-b4a2-555e-917a-4a74cf3b880e","user_id":"王小明","session_id":"s","resource_id":"r1","kind":"turn","role":"user","speaker":null,"text":"我住在台北。It''s 100%_\u0000","context":null,"entity_ids":["e1"],"metadata":{},"confidence":1.0,"access_count":0,"last_accessed_at":null,"created_at":"2026-03-01T12:00:00Z","updated_at":"2026-03-01T12:00:00Z"}');
CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL);
INSERT INTO "migrations" VALUES(1,'raw log','2026-11-22T02:31:27.297365+00:00');
INSERT INTO "migrations" VALUES(2,'entities, memories and the outbox','2026-11-22T02:31:27.297884+00:00');
CREATE TABLE names (
                user_id TEXT NOT NULL,
                name TEXT NOT NULL,
                entity_id TEXT NOT NULL,
                rank INTEGER NOT NULL,
                head TEXT NOT NULL,
                prefix TEXT NOT NULL,
                PRIMARY KEY (user_id, name, entity_id)
            ) WITHOUT ROWID;
INSERT INTO "names" VALUES('ann','宏康hci','e1',0,'宏康hci','宏康');
INSERT INTO "names" VALUES('ann','鸿康','e1',1,'鸿康','鸿康');
INSERT INTO "names" VALUES('王小明','宏康hci','e1',0,'宏康hci','宏康');
INSERT INTO "names" VALUES('王小明','鸿康','e1',1,'鸿康','鸿康');
CREATE TABLE outbox (
                sequence INTEGER PRIMARY KEY AUTOINCREMENT,
                user_id TEXT NOT NULL,
                collection TEXT NOT NULL,
                item_id TEXT NOT NULL,
                UNIQUE (user_id, collection, item_id)
            );
INSERT INTO "outbox" VALUES(2,'ann','ai_box_aam_memory','f5bf114b-4fcf-5233-8ef9-104b7c9d3351');
INSERT INTO "outbox" VALUES(3,'王小明','ai_box_entity_memory','e1');
INSERT INTO "outbox" VALUES(4,'王小明','ai_box_aam_memory','be72a9a8-b4a2-555e-917a-4a74cf3b880e');
CREATE TABLE resources (
                sequence INTEGER PRIMARY KEY AUTOINCREMENT,
                user_id TEXT NOT NULL,
                resource_id TEXT NOT NULL,
                session_id TEXT NOT NULL,
                learned INTEGER NOT NULL,
                body TEXT NOT NULL,
                UNIQUE (user_id, resource_id)
            );
INSERT INTO "resources" VALUES(1,'ann','r1','s',1,'{"resource_id":"r1","user_id":"ann","session_id":"s","kind":"turn","role":"user","speaker":null,"content":"我住在台北。It''s 100%_\u0000","resolved":null,"metadata":{},"created_at":"2026-03-01T12:00:00Z","learn":true}');
INSERT INTO "resources" VALUES(2,'ann','r2','s',1,'{"resource_id":"r2","user_id":"ann","session_id":"s","kind":"turn","role":"assistant","speaker":null,"content":"好的","resolved":null,"metadata":{},"created_at":"2026-03-01T20:00:01.999999+08:00","learn":false}');
INSERT INTO "resources" VALUES(3,'ann','r3','t',0,'{"resource_id":"r3","user_id":"ann","session_id":"t","kind":"note","role":"user","speaker":null,"content":"note","resolved":null,"metadata":{"n":1180591620717411303424,"x":1.5,"none":null},"created_at":"1969-12-31T23:59:59.999999Z","learn":true}');
INSERT INTO "resources" VALUES(4,'王小明','r1','s',1,'{"resource_id":"r1","user_id":"王小明","session_id":"s","kind":"turn","role":"user","speaker":null,"content":"我住在台北。It''s 100%_\u0000","resolved":null,"metadata":{},"created_at":"2026-03-01T12:00:00Z","learn":true}');
INSERT INTO "resources" VALUES(5,'王小明','r2','s',1,'{"resource_id":"r2","user_id":"王小明","session_id":"s","kind":"turn","role":"assistant","speaker":null,"content":"好的","resolved":null,"metadata":{},"created_at":"2026-03-01T20:00:01.999999+08:00","learn":false}');
INSERT INTO "resources" VALUES(6,'王小明','r3','t',0,'{"resource_id":"r3","user_id":"王小明","session_id":"t","kind":"note","role":"user","speaker":null,"content":"note","resolved":null,"metadata":{"n":1180591620717411303424,"x":1.5,"none":null},"created_at":"1969-12-31T23:59:59.999999Z","learn":true}');
CREATE INDEX resources_by_session ON resources (user_id, session_id, sequence);
CREATE INDEX resources_unlearned ON resources (sequence) WHERE learned = 0;
CREATE INDEX resources_unlearned_by_user ON resources (user_id, sequence) WHERE learned = 0;
CREATE INDEX entities_recent ON entities (user_id, status, last_mentioned_us);
CREATE INDEX names_by_entity ON names (user_id, entity_id);
CREATE INDEX names_by_head ON names (user_id, head);
CREATE INDEX names_by_prefix ON names (user_id, prefix);
CREATE INDEX memories_recent ON memories (user_id, created_us);
CREATE INDEX memories_by_session ON memories (user_id, session_id, created_us);
CREATE INDEX outbox_by_user ON outbox (user_id, sequence);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('resources',6);
INSERT INTO "sqlite_sequence" VALUES('outbox',4);
COMMIT;
