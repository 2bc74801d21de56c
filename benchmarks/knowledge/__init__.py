"""The knowledge base: what its search finds, and how it grows."""
