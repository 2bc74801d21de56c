"""Training, evaluating and exporting the rewriter."""
