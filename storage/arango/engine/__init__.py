"""HTTP, errors, queries, schema and transactions of ArangoDB."""
