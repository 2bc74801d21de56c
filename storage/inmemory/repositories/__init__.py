"""The repositories of one unit of work, a file for each kind of value."""
