"""What users say and what is kept of it: conversations, entities, facts, memories and their review."""
