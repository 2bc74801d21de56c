"""Writing the resolved query."""
