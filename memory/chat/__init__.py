"""The use cases of a caller: a chat turn, and adding memories (DESIGN §3)."""
