"""The vector index in process, on Qdrant's engine."""
