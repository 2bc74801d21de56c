"""Finds references, gaps, corrections and noun phrases in a text."""
