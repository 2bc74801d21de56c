"""One repository per kind, over one ArangoDB transaction."""
