"""The knowledge base: corpora, ingestion and search (004)."""
