"""Dialogue as a graph over memory (document 003)."""
