"""LangGraph's checkpoints as items; importing this room imports LangGraph."""
