"""The system of record in one SQLite file."""
