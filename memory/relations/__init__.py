"""Relations between entities: the patterns that state them, and how their weight grows and decays."""
