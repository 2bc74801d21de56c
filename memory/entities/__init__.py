"""Entities by hand and from conversation: remember, find, alias, merge, split, undo (document 000)."""
