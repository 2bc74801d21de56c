"""Training, evaluating and exporting the tagger."""
