"""Code that several backends share: checks, names, points of the index."""
