"""The AQL statements of corpora, sources and chunks; see `queries` for what all statements have in common."""

CORPORA = """
FOR c IN corpora FILTER c.user_id == @user RETURN c.body
"""
CORPUS_VERSIONS = """
FOR v IN corpus_versions FILTER v.user_id == @user AND v.corpus == @corpus SORT v.version DESC RETURN v.body
"""
REMOVE_CORPUS_VERSIONS = """
FOR v IN corpus_versions FILTER v.user_id == @user AND v.corpus == @corpus REMOVE v IN corpus_versions
"""
SOURCES_PAGE = """
FOR s IN knowledge_sources FILTER s.user_id == @user AND s.corpus == @corpus AND s.order > @after
SORT s.order LIMIT @limit RETURN s.body
"""
SOURCE_VERSIONS = """
FOR v IN source_versions FILTER v.user_id == @user AND v.source == @source SORT v.version DESC RETURN v.body
"""
REMOVE_SOURCE_VERSIONS = """
FOR v IN source_versions FILTER v.user_id == @user AND v.source == @source REMOVE v IN source_versions
"""
SOURCE_CONTENT = """
FOR v IN source_versions FILTER v.user_id == @user AND v._key == @key RETURN v.content
"""
UPDATE_SOURCE_VERSION = """
FOR v IN source_versions FILTER v.user_id == @user AND v._key == @key
UPDATE v WITH {state: @state, body: @body} IN source_versions RETURN 1
"""
ALL_PENDING_SOURCES = """
FOR v IN source_versions FILTER v.state == @state RETURN v.body
"""
KNOWLEDGE_IDS = """
FOR k IN knowledge FILTER k.user_id == @user AND k.source == @source AND (@version == null OR k.version == @version)
SORT k.version, k.chunk_index LIMIT @limit RETURN k.id
"""
COUNT_KNOWLEDGE = """
FOR k IN knowledge FILTER k.user_id == @user AND k.corpus == @corpus COLLECT WITH COUNT INTO total RETURN total
"""
