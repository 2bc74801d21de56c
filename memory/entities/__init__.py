"""Editing entities: find, alias, rename, merge, split, delete, archive, undo (document 000)."""
