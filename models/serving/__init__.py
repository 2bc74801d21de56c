"""Trained networks as they are served: the body without what only training needs, weights mapped (DESIGN §5)."""
