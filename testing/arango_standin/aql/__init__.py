"""AQL: from a query's text to its result."""
