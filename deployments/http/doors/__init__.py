"""Interfaces of other services, over the same domain as our own routes."""
