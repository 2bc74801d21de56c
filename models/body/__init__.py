"""The transformer that all trained models share."""
