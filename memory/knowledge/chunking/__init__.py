"""Cuts documents into chunks (004 §4, §6.5)."""
