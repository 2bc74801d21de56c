"""Rerankers: models that read a query and a passage together (DESIGN §5)."""
