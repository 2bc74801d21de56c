"""Wrappers that keep working while a store is unavailable."""
