"""The review of stored memory, and access counts (001 §4)."""
