"""Decides which requests make one batch, and runs the batches."""
