"""Bodies and replies of the routes on memory."""
