"""The system of record on ArangoDB."""
