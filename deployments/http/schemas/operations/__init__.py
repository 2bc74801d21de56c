"""Bodies and replies of the routes for operators."""
