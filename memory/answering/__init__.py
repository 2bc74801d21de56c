"""Answers: extractive when no language model is configured, and they say so (DESIGN §3.4)."""
