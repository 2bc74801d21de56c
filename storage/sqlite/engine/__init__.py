"""Connections, transactions, schema and migrations of the SQLite file."""
