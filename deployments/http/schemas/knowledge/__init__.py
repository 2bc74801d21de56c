"""Bodies and replies of the routes on documents and their graph."""
