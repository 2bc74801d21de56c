"""What becomes of what is kept: changes, retention, decisions, erasures, requests to forget."""
