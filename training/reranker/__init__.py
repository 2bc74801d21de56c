"""Training, evaluating and exporting the reranker."""
