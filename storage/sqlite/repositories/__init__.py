"""One repository per kind, over one SQLite transaction."""
