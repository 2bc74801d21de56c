"""The rewriter: turns a query that leans on its conversation into one that stands alone (DESIGN §5)."""
