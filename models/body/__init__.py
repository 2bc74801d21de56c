"""The transformer body of all trained models."""
