"""Whole conversations over weeks, played to a running service, and what it answers afterwards."""
