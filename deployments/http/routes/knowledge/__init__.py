"""Documents and the graph of what they say (004)."""
