"""One repository a kind, over one ArangoDB transaction."""
