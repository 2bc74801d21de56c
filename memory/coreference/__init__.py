"""Coreference: what a reference in a query stands for, and the query rewritten to stand alone (000 §4.4, DESIGN §3)."""
