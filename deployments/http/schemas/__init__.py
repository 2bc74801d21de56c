"""Request and reply bodies."""
