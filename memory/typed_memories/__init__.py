"""Typed memories with conflicts and hotness (document 001)."""
