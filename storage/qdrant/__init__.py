"""The vector index on a Qdrant server."""
