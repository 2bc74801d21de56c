"""Deterministic stand-ins for models."""
