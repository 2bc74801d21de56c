"""Responses and conversations: what the service keeps for the caller."""
