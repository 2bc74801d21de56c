"""Learning: from the raw log to entities and memories, each exactly once (DESIGN §3.6)."""
