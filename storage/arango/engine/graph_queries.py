"""The AQL statements of knowledge graphs; see `queries` for what all statements have in common.

Nodes and edges are summed up from the evidence of the extractions that are members of a version (`@place`).
"""

GRAPH_VERSIONS = """
FOR g IN knowledge_graphs FILTER g.user_id == @user AND g.corpus == @corpus SORT g.version DESC RETURN g.body
"""
GRAPH_MEMBERS = """
FOR m IN graph_members FILTER m.user_id == @user AND m.place == @place RETURN m.id
"""
_MENTIONS = """
FOR e IN graph_mentions FILTER e.user_id == @user AND e.corpus == @corpus AND e.node NOT IN @removed {}
FOR m IN graph_members FILTER m.user_id == @user AND m.place == @place AND m.extraction == e.extraction
"""
_LINKS = """
FOR e IN graph_links FILTER e.user_id == @user AND e.corpus == @corpus AND e.edge NOT IN @removed
AND e.source NOT IN @removed AND e.target NOT IN @removed {}
FOR m IN graph_members FILTER m.user_id == @user AND m.place == @place AND m.extraction == e.extraction
"""
_AMONG = "AND e.node IN @nodes"
SPELLINGS = f"""
{_MENTIONS.format(_AMONG)}
COLLECT node = e.node, name = e.name, kind = e.kind AGGREGATE mentions = SUM(e.count), chunks = SUM(1)
RETURN [node, name, kind, mentions, chunks]
"""
LARGEST_NODES = f"""
{_MENTIONS.format("AND e.key >= @prefix AND e.key < @behind")}
COLLECT node = e.node, order = e.node_order AGGREGATE chunks = SUM(1)
SORT chunks DESC, order LIMIT @limit RETURN node
"""
_EDGES = """
COLLECT order = e.edge_order, names = e.names AGGREGATE strength = SUM(e.strength), chunks = SUM(1)
SORT strength DESC, order, names LIMIT @limit RETURN [names, strength, chunks]
"""
EDGES_TOUCHING = _LINKS.format("AND (e.source IN @nodes OR e.target IN @nodes)") + _EDGES
EDGES_INSIDE = _LINKS.format("AND e.source IN @nodes AND e.target IN @nodes") + _EDGES
NODE_EVIDENCE = f"""
{_MENTIONS.format(_AMONG)} SORT e.chunk_order, e.node_order LIMIT @limit RETURN e.body
"""
EDGE_EVIDENCE = f"""
{_LINKS.format("AND e.edge == @edge")} SORT e.strength DESC, e.chunk_order LIMIT @limit RETURN e.body
"""
COUNT_NODES = f"""
{_MENTIONS.format("")} COLLECT node = e.node COLLECT WITH COUNT INTO total RETURN total
"""
COUNT_EDGES = f"""
{_LINKS.format("")} COLLECT edge = e.edge COLLECT WITH COUNT INTO total RETURN total
"""
REMOVE_OTHER_MEMBERS = """
FOR m IN graph_members FILTER m.user_id == @user AND m.corpus == @corpus AND m.place NOT IN @kept
REMOVE m IN graph_members
"""
REMOVE_OTHER_GRAPHS = """
FOR g IN knowledge_graphs FILTER g.user_id == @user AND g.corpus == @corpus AND g._key NOT IN @kept
REMOVE g IN knowledge_graphs RETURN 1
"""
UNUSED_EXTRACTIONS = """
FOR x IN graph_extractions FILTER x.user_id == @user AND x.corpus == @corpus
LET used = (FOR m IN graph_members FILTER m.user_id == @user AND m.extraction == x._key LIMIT 1 RETURN 1)
FILTER LENGTH(used) == 0 RETURN x._key
"""
EXTRACTIONS_OF_SOURCE = """
FOR x IN graph_extractions FILTER x.user_id == @user AND x.source == @source RETURN x._key
"""
REMOVE_EVIDENCE = """
FOR e IN @@collection FILTER e.user_id == @user AND e.extraction IN @extractions REMOVE e IN @@collection
"""
