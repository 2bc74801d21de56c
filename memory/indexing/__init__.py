"""The vector index as a projection of the record: writing, verifying, rebuilding, re-embedding."""
