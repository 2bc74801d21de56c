"""Every AQL statement of Jiyi (STORES, ArangoDB).

`@user` is the owner in ASCII (`keys.ascii_of`), bound in every statement of a unit of work, so the server
refuses one that does not filter by it. Only `ALL_…` and `…MIGRATION…` are without.
Documents hold what is compared and, in `body`, the value itself. `order` sorts as the id does by code point.
"""

# Any collection

KNOWN = """
FOR d IN @@collection FILTER d._key IN @keys AND d.user_id == @user RETURN [d._key, d.sequence]
"""
BODIES = """
FOR d IN @@collection FILTER d._key IN @keys AND d.user_id == @user RETURN [d._key, d.body]
"""
PAGE = """
FOR d IN @@collection FILTER d.user_id == @user AND d.order > @after SORT d.order LIMIT @limit RETURN d.body
"""
COUNT = """
FOR d IN @@collection FILTER d.user_id == @user COLLECT WITH COUNT INTO total RETURN total
"""
PUT = """
FOR d IN @documents INSERT MERGE(d, {user_id: @user}) INTO @@collection OPTIONS {overwriteMode: "replace"}
"""
REMOVE = """
FOR d IN @@collection FILTER d._key IN @keys AND d.user_id == @user REMOVE d IN @@collection RETURN OLD._key
"""

# The write lock of a user: the transaction that changes this document first is the only writer until it ends.
# The server may hand numbers back as floats; they stay far below 2^53.

LOCK = """
UPSERT {_key: @key, user_id: @user}
INSERT {_key: @key, user_id: @user, order: @order, sequence: @now + @reserved}
UPDATE {sequence: MAX([OLD.sequence, @now]) + @reserved}
IN users RETURN NEW.sequence
"""

# The raw log

SESSION = """
FOR r IN resources FILTER r.user_id == @user AND r.session == @session AND r.sequence < @before
SORT r.sequence DESC LIMIT @limit RETURN r.body
"""
LOG = """
FOR r IN resources FILTER r.user_id == @user AND (@kind == null OR r.kind == @kind)
FILTER @since == null OR r.created_us >= @since
SORT r.sequence DESC LIMIT @limit RETURN r.body
"""
LOG_PAGE = """
FOR r IN resources FILTER r.user_id == @user AND r.sequence > @after SORT r.sequence LIMIT @limit RETURN r.body
"""
UNLEARNED = """
FOR r IN resources FILTER r.user_id == @user AND r.learned == false SORT r.sequence LIMIT @limit RETURN r.body
"""
UNLEARNED_PAGE = """
FOR r IN resources FILTER r.user_id == @user AND r.learned == false AND r.sequence > @after
SORT r.sequence LIMIT @limit RETURN r.body
"""
ALL_UNLEARNED = """
FOR r IN resources FILTER r.learned == false SORT r.sequence, r.user_id LIMIT @limit RETURN r.body
"""
MARK_LEARNED = """
FOR r IN resources FILTER r._key IN @keys AND r.user_id == @user AND r.learned == false
UPDATE r WITH {learned: true} IN resources RETURN OLD._key
"""
DELETE_ORPHANED = """
FOR r IN resources FILTER r.user_id == @user AND r.learned == true AND r.created_us < @before
LET remembered = (FOR m IN memories FILTER m.user_id == @user AND m.source == r._key LIMIT 1 RETURN 1)
LET stated = (FOR f IN facts FILTER f.user_id == @user AND f.source == r._key LIMIT 1 RETURN 1)
FILTER LENGTH(remembered) == 0 AND LENGTH(stated) == 0
REMOVE r IN resources RETURN OLD._key
"""

# Entities and their names

# An archived entity may have left its name to the one that it was merged into: the active one is meant.
BY_NAME = """
FOR n IN entity_names FILTER n.user_id == @user AND n.name == @name
FOR d IN entities FILTER d._key == n.entity_key AND d.user_id == @user
SORT d.status != @active, n.rank > 0, d.order LIMIT 1 RETURN d.body
"""
KNOWN_PREFIXES = """
FOR prefix IN @prefixes
LET known = (FOR n IN entity_names FILTER n.user_id == @user AND n.prefix == prefix LIMIT 1 RETURN 1)
FILTER LENGTH(known) > 0 RETURN prefix
"""
BY_HEADS = """
FOR n IN entity_names FILTER n.user_id == @user AND n.head IN @heads
FOR d IN entities FILTER d._key == n.entity_key AND d.user_id == @user AND d.status == @active
RETURN [n.name, d.entity_id, d.body]
"""
RECENT_ENTITIES = """
FOR d IN entities FILTER d.user_id == @user AND d.status == @active
SORT d.last_mentioned_us DESC, d.sequence DESC LIMIT @limit RETURN d.body
"""
ENTITY_PLACE = """
FOR d IN entities FILTER d._key == @key AND d.user_id == @user RETURN [d.last_mentioned_us, d.sequence]
"""
OLDEST_ENTITIES = """
FOR d IN entities FILTER d.user_id == @user AND d.last_mentioned_us >= @time
FILTER d.last_mentioned_us > @time OR d.sequence > @sequence
SORT d.last_mentioned_us, d.sequence LIMIT @limit RETURN d.body
"""
REMOVE_OLD_NAMES = """
FOR n IN entity_names FILTER n.user_id == @user AND n.entity_key IN @entities AND n._key NOT IN @kept
REMOVE n IN entity_names
"""

# Relations of entities

RELATIONS_OF = """
FOR e IN entity_relations FILTER e.user_id == @user AND (e._from == @vertex OR e._to == @vertex)
SORT e.confidence DESC, e.order LIMIT @limit RETURN e.body
"""
RELATED = """
WITH entities
FOR v, e, p IN 1..@depth ANY @vertex GRAPH "entity_graph"
PRUNE v.user_id != @user OR (v.status != @active AND v._id != @vertex)
OPTIONS {order: "bfs", uniqueVertices: "global"}
FILTER v.user_id == @user AND e.user_id == @user AND v._id != @vertex AND v.status == @active
SORT LENGTH(p.edges), v.order LIMIT @limit RETURN [v.entity_id, LENGTH(p.edges)]
"""
# One hop: with a bound on confidence, a vertex first met over an unsure relation would count as visited.
RELATED_BY_ONE_HOP = """
WITH entities
FOR start IN @frontier
FOR v, e IN 1..1 ANY start GRAPH "entity_graph"
FILTER v.user_id == @user AND e.user_id == @user AND v.status == @active AND e.confidence >= @least
COLLECT order = v.order, id = v.entity_id SORT order LIMIT @limit RETURN id
"""

# Memories

RECENT_MEMORIES = """
FOR m IN memories FILTER m.user_id == @user AND (@session == null OR m.session == @session)
SORT m.created_us DESC, m.sequence DESC LIMIT @limit RETURN m.body
"""
MEMORY_PLACE = """
FOR m IN memories FILTER m._key == @key AND m.user_id == @user RETURN [m.created_us, m.sequence]
"""
OLDEST_MEMORIES = """
FOR m IN memories FILTER m.user_id == @user AND m.created_us >= @time
FILTER m.created_us > @time OR m.sequence > @sequence
SORT m.created_us, m.sequence LIMIT @limit RETURN m.body
"""
TIMELINE = """
FOR m IN memories FILTER m.user_id == @user AND m.created_us >= @since AND m.created_us < @until
FILTER m.created_us <= @at FILTER m.created_us < @at OR m.order > @order
SORT m.created_us DESC, m.order LIMIT @limit RETURN m.body
"""
PREVIOUS_MEMORIES = """
FOR m IN memories FILTER m._key IN @keys AND m.user_id == @user
FOR p IN (
FOR o IN memories FILTER o.user_id == @user AND o.session == m.session AND o.created_us <= m.created_us
FILTER o.created_us < m.created_us OR o.sequence < m.sequence
SORT o.created_us DESC, o.sequence DESC LIMIT 1 RETURN o.body
) RETURN [m._key, p]
"""
# Finds the text anywhere in the body; whoever reads the body sees whether it is among the entities.
MEMORIES_WITH = """
FOR m IN memories FILTER m.user_id == @user AND CONTAINS(m.body, @text) SORT m.order RETURN m.body
"""

# Facts: `says` is of subject, predicate and object, `about` of subject and predicate, `subject` of the subject

FACTS = """
FOR f IN facts FILTER f.user_id == @user AND (@category == null OR f.category == @category)
FILTER @status == null OR f.status == @status
FILTER @at == null OR f.recorded_us < @at OR (f.recorded_us == @at AND f.order > @order)
SORT f.recorded_us DESC, f.order LIMIT @limit RETURN f.body
"""
COUNT_FACTS = """
FOR f IN facts FILTER f.user_id == @user AND (@category == null OR f.category == @category)
FILTER @status == null OR f.status == @status
COLLECT WITH COUNT INTO total RETURN total
"""
CONFLICTING_FACTS = """
FOR f IN facts FILTER f.user_id == @user AND f.about == @about AND f.status == @active AND f._key != @left_out
SORT f.recorded_us DESC, f.order RETURN f.body
"""
FACT_HISTORY = """
FOR f IN facts FILTER f.user_id == @user AND f.about == @about AND f.status != @deleted
SORT f.recorded_us DESC, f.order LIMIT @limit RETURN f.body
"""
FACTS_STATING = """
FOR f IN facts FILTER f.user_id == @user AND f.says IN @says AND f.status != @deleted
SORT f.recorded_us DESC, f.order RETURN f.body
"""
FACTS_STATED_IN = """
FOR f IN facts FILTER f.user_id == @user AND f.source IN @sources AND f.status != @deleted
SORT f.recorded_us DESC, f.order RETURN f.body
"""
DUPLICATE_FACTS = """
FOR f IN facts FILTER f.user_id == @user AND f.status == @active
COLLECT says = f.says AGGREGATE total = SUM(1)
FILTER total > 1
RETURN (FOR d IN facts FILTER d.user_id == @user AND d.says == says AND d.status == @active
SORT d.recorded_us, d.order RETURN d.body)
"""
FACTS_BY_CATEGORY = """
FOR f IN facts FILTER f.user_id == @user AND (@status == null OR f.status == @status)
COLLECT category = f.category AGGREGATE total = SUM(1) RETURN [category, total]
"""
OLD_UNSURE_FACTS = """
FOR f IN facts FILTER f.user_id == @user AND f.status == @active AND f.recorded_us < @before AND f.confidence < @below
SORT f.recorded_us DESC, f.order RETURN f.body
"""
FACTS_BY_STATUS = """
FOR f IN facts FILTER f.user_id == @user COLLECT status = f.status AGGREGATE total = SUM(1) RETURN [status, total]
"""
FACTS_CONFIDENCE = """
FOR f IN facts FILTER f.user_id == @user AND (@status == null OR f.status == @status)
COLLECT AGGREGATE mean = AVERAGE(f.confidence) RETURN mean
"""
FACT_IDS = """
FOR f IN facts FILTER f.user_id == @user AND (@status == null OR f.status == @status)
SORT f.order RETURN f.fact_id
"""

# Categories and their use

CATEGORY_BY_ID = """
FOR c IN categories FILTER c.user_id == @user AND c.order == @order RETURN c.body
"""
CATEGORIES = """
FOR c IN categories FILTER c.user_id == @user RETURN c.body
"""
CATEGORY_ACCESSES = """
FOR a IN category_accesses FILTER a.user_id == @user RETURN a.body
"""
CATEGORY_ACCESSES_BEFORE = """
FOR a IN category_accesses FILTER a.user_id == @user AND a.accessed_us < @before
RETURN [a._key, a.category, a.accessed_us]
"""
CATEGORIES_USED = """
FOR a IN category_accesses FILTER a.user_id == @user AND a.accessed_us >= @since
COLLECT category = a.category AGGREGATE total = SUM(1) RETURN [category, total]
"""
CATEGORIES_LAST_USED = """
FOR a IN category_accesses FILTER a.user_id == @user
COLLECT category = a.category AGGREGATE last = MAX(a.accessed_us) RETURN [category, last]
"""

# The graph of facts

EDGES = """
FOR e IN graph_edges FILTER e.user_id == @user SORT e.order RETURN e.body
"""
EDGE_IDS = """
FOR e IN graph_edges FILTER e._key IN @keys AND e.user_id == @user RETURN [e._key, e.edge_id]
"""
EDGES_WITH_IDS = """
FOR e IN graph_edges FILTER e.user_id == @user AND e.order IN @orders RETURN e.edge_id
"""
REMOVE_EDGES = """
FOR e IN graph_edges FILTER e.user_id == @user REMOVE e IN graph_edges RETURN 1
"""
REMOVE_NODES = """
FOR v IN graph_nodes FILTER v.user_id == @user REMOVE v IN graph_nodes
"""

# Changes that can be undone

CHANGES = """
FOR c IN changes FILTER c.user_id == @user AND c.sequence < @before AND (@kind == null OR c.kind == @kind)
SORT c.sequence DESC LIMIT @limit RETURN c.body
"""
CHANGES_PAGE = """
FOR c IN changes FILTER c.user_id == @user AND c.sequence > @after SORT c.sequence LIMIT @limit RETURN c.body
"""
CHANGES_ABOUT = """
FOR s IN change_subjects FILTER s.user_id == @user AND s.subject == @subject AND s.sequence < @before
FOR c IN changes FILTER c._key == s.change AND c.user_id == @user AND (@kind == null OR c.kind == @kind)
SORT s.sequence DESC LIMIT @limit RETURN c.body
"""

# Policies of retention

RETENTION_POLICY = """
FOR p IN retention_policies FILTER p.user_id == @user RETURN p.body
"""

# Items: `path` sorts as the namespace does, `order` as the namespace and then the key

LATEST_ITEMS = """
FOR i IN items FILTER i.user_id == @user AND i.collection == @kept_by AND i.path >= @first AND i.path < @end
FILTER i.updated_us <= @at FILTER i.updated_us < @at OR i.order > @order
SORT i.updated_us DESC, i.order LIMIT @limit RETURN i.body
"""
ITEMS_BY_KEY = """
FOR i IN items FILTER i.user_id == @user AND i.collection == @kept_by AND i.path >= @first AND i.path < @end
FILTER @order == null OR i.order > @order
SORT i.order LIMIT @limit RETURN i.body
"""
ITEMS_BY_KEY_DESCENDING = """
FOR i IN items FILTER i.user_id == @user AND i.collection == @kept_by AND i.path >= @first AND i.path < @end
FILTER @order == null OR i.order < @order
SORT i.order DESC LIMIT @limit RETURN i.body
"""
ITEM_PATHS = """
FOR i IN items FILTER i.user_id == @user AND i.collection == @kept_by
FILTER i.expires_us == null OR i.expires_us > @at
COLLECT path = i.path SORT path RETURN path
"""
REMOVE_EXPIRED_ITEMS = """
FOR i IN items FILTER i.user_id == @user AND i.expires_us != null AND i.expires_us <= @at
REMOVE i IN items RETURN 1
"""

# The outbox

OUTBOX = """
FOR o IN outbox FILTER o.user_id == @user SORT o.sequence LIMIT @limit
RETURN [o.sequence, o.user_id, o.collection, o.item_id]
"""
ALL_OUTBOX = """
FOR o IN outbox SORT o.sequence, o.user_id LIMIT @limit RETURN [o.sequence, o.user_id, o.collection, o.item_id]
"""
ACKNOWLEDGE = """
FOR a IN @entries
FOR o IN outbox FILTER o._key == a.key AND o.user_id == @user AND o.sequence == a.sequence
REMOVE o IN outbox RETURN 1
"""

# Erasure: in portions, since a transaction is limited in size

ERASE = """
FOR d IN @@collection FILTER d.user_id == @user LIMIT @limit REMOVE d IN @@collection RETURN 1
"""

# Over all users

ALL_OWNERS_OF_MEMORY = "FOR m IN memories FILTER m.order == @order RETURN m.user_id"
ALL_USERS = """
FOR u IN users FILTER u.order > @after SORT u.order
LET resource = (FOR d IN resources FILTER d.user_id == u.user_id LIMIT 1 RETURN 1)
LET entity = (FOR d IN entities FILTER d.user_id == u.user_id LIMIT 1 RETURN 1)
LET memory = (FOR d IN memories FILTER d.user_id == u.user_id LIMIT 1 RETURN 1)
LET fact = (FOR d IN facts FILTER d.user_id == u.user_id LIMIT 1 RETURN 1)
LET category = (FOR d IN categories FILTER d.user_id == u.user_id LIMIT 1 RETURN 1)
LET access = (FOR d IN category_accesses FILTER d.user_id == u.user_id LIMIT 1 RETURN 1)
LET edge = (FOR d IN graph_edges FILTER d.user_id == u.user_id LIMIT 1 RETURN 1)
LET relation = (FOR d IN entity_relations FILTER d.user_id == u.user_id LIMIT 1 RETURN 1)
LET change = (FOR d IN changes FILTER d.user_id == u.user_id LIMIT 1 RETURN 1)
LET corpus = (FOR d IN corpora FILTER d.user_id == u.user_id LIMIT 1 RETURN 1)
LET source = (FOR d IN knowledge_sources FILTER d.user_id == u.user_id LIMIT 1 RETURN 1)
LET chunk = (FOR d IN knowledge FILTER d.user_id == u.user_id LIMIT 1 RETURN 1)
LET item = (FOR d IN items FILTER d.user_id == u.user_id LIMIT 1 RETURN 1)
FILTER LENGTH(resource) + LENGTH(entity) + LENGTH(memory) + LENGTH(fact)
+ LENGTH(category) + LENGTH(access) + LENGTH(edge) + LENGTH(relation) + LENGTH(change)
+ LENGTH(corpus) + LENGTH(source) + LENGTH(chunk) + LENGTH(item) > 0
LIMIT @limit RETURN u.user_id
"""
ALL_FACT_TOTALS = """
FOR f IN facts COLLECT status = f.status, category = f.category
AGGREGATE total = SUM(1), confidence = AVERAGE(f.confidence) RETURN [status, category, total, confidence]
"""
ALL_COUNTS = """
LET resources_ = (FOR d IN resources COLLECT WITH COUNT INTO n RETURN n)
LET unlearned = (FOR d IN resources FILTER d.learned == false COLLECT WITH COUNT INTO n RETURN n)
LET entities_ = (FOR d IN entities COLLECT WITH COUNT INTO n RETURN n)
LET preloaded = (
    FOR d IN entities FILTER CONTAINS(d.body, @by_system) AND CONTAINS(d.body, @unmentioned)
    COLLECT WITH COUNT INTO n RETURN n
)
LET relations = (FOR d IN entity_relations COLLECT WITH COUNT INTO n RETURN n)
LET memories_ = (FOR d IN memories COLLECT WITH COUNT INTO n RETURN n)
LET facts_ = (FOR d IN facts COLLECT WITH COUNT INTO n RETURN n)
LET corpora_ = (FOR d IN corpora COLLECT WITH COUNT INTO n RETURN n)
LET knowledge_ = (FOR d IN knowledge COLLECT WITH COUNT INTO n RETURN n)
LET outbox_ = (FOR d IN outbox COLLECT WITH COUNT INTO n RETURN n)
RETURN {resources: resources_[0], unlearned: unlearned[0], entities: entities_[0], preloaded: preloaded[0],
relations: relations[0], memories: memories_[0], facts: facts_[0], corpora: corpora_[0],
knowledge: knowledge_[0], outbox: outbox_[0]}
"""

# API keys, which belong to no user's data

ALL_KEYS = """
FOR k IN api_keys FILTER k.order > @after AND (@app == null OR k.app == @app) AND (@owner == null OR k.owner == @owner)
SORT k.order LIMIT @limit RETURN [k.body, k.last_used_us]
"""
ALL_KEYS_OF_THIS_ID = """
FOR k IN api_keys FILTER k._key == @key RETURN [k.body, k.last_used_us]
"""
ALL_KEYS_WITH_THIS_ONE = """
INSERT @key INTO api_keys
"""
ALL_KEYS_WITH_THIS_ONE_REPLACED = """
FOR k IN api_keys FILTER k._key == @key AND k.version == @before
UPDATE k WITH {version: @version, body: @body} IN api_keys RETURN OLD._key
"""
ALL_KEYS_BUT_THOSE_OF_A_USER = """
FOR k IN api_keys FILTER k.app == @app AND k.owner == @owner REMOVE k IN api_keys RETURN OLD._key
"""
ALL_KEYS_USED = """
FOR use IN @uses
FOR k IN api_keys FILTER k._key == use.key AND k.last_used_us < use.at
UPDATE k WITH {last_used_us: use.at} IN api_keys
"""

# Migrations

MIGRATIONS = """
FOR m IN migrations SORT m.number RETURN [m.number, m.name]
"""
ADD_MIGRATION = """
INSERT @record INTO migrations
"""
MIGRATION_TYPED_MEMORIES = """
FOR m IN aam_memories LIMIT @limit RETURN [m._key, m.body]
"""
MIGRATION_ADD_FACTS = """
FOR d IN @documents INSERT d INTO facts OPTIONS {overwriteMode: "replace"}
"""
MIGRATION_REMOVE_TYPED_MEMORIES = """
FOR m IN aam_memories FILTER m._key IN @keys REMOVE m IN aam_memories
"""
