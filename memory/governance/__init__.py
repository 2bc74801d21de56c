"""Looking after what is remembered: duplicates, conflicts, review, and a log of changes that can be undone."""
