"""Corrections and answers to our own question, which resolve an earlier query again."""
