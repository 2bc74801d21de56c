"""Faults of the stores while a chat goes on."""
