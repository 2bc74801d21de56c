"""The use cases that a caller sees: a chat turn, and adding memories (DESIGN §3)."""
