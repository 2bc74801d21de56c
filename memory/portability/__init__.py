"""Everything of a user as a file of JSON lines, out and in."""
