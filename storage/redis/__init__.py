"""Sessions, limits and locks on a Redis-protocol server, and the local server itself."""
