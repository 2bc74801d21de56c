"""Entities and remember-intents in text, found without an LLM (000 §3, DESIGN §5)."""
