"""Answers from retrieved memories; extractive, without a language model (DESIGN §3.4)."""
