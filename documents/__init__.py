"""Reads files of many types as documents (004 §4)."""
