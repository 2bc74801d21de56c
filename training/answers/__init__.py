"""Trains the answer reader."""
