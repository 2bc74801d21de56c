"""What decides which requests make one batch, and runs it."""
