"""Interfaces that clients of other tools speak, one folder each, over the same services."""
