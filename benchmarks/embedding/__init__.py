"""The Embedder beside other embedding servers: same weights, same texts, same threads, one run (issue: peers)."""
