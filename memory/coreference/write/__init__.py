"""Writes the resolved query and the clarifying question."""
