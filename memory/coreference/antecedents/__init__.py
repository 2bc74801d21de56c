"""Antecedent candidates and their ranking."""
