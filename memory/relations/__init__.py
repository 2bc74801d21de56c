"""Relations between entities: the patterns that state them, and their strength (000 §4.2)."""
