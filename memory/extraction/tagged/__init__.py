"""Names from the trained tagger."""
