"""Knowledge graphs of real texts: how fast they are built, how good they are, and whether they help a search."""
