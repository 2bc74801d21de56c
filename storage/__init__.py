"""Adapters for the stores of Jiyi and their embedded twins; never Ray or torch."""
