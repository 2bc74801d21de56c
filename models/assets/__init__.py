"""Model files: the catalogue, and how weights come onto the machine."""
