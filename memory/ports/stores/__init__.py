"""The roles of stores: the record with its repositories, vectors, sessions, locks."""
