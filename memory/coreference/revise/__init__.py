"""Corrections and answers to a clarifying question, which resolve an earlier query again."""
