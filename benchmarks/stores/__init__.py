"""Stores with many entities."""
