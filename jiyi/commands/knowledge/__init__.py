"""Commands on documents and the graph of what they say."""
