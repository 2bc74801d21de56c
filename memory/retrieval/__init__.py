"""Hybrid retrieval: search legs, fused into one ranking (000 §6, DESIGN §6)."""
