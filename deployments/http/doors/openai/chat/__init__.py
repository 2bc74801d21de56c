"""Chat completions: memory around one answer."""
