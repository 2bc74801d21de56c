"""The neural models of Jiyi: encoder, batching, catalogue; never Ray, HTTP or a store."""
