"""A service whose stores can be made to fail, and what a user sees while they do."""
