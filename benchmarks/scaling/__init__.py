"""Measures how the embedding path scales."""
