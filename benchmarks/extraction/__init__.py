"""Names that conversations teach."""
