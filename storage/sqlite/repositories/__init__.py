"""One repository a kind, over one SQLite transaction."""
