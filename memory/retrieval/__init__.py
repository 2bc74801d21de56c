"""Retrieval: search legs, fusion into one ranking, and why each hit ranked (000 §6, DESIGN §6)."""
