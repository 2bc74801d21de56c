"""One thin class a Ray Serve deployment."""
