"""Benchmarks: each states its theory, prints a table and ends with one JSON line."""
