"""The rewriter: turns a query that depends on its conversation into a self-contained one (DESIGN §5)."""
